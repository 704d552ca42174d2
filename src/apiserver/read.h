/* read.h - the verbs that change nothing: get, list and watch. */
#ifndef BULKHEAD_APISERVER_READ_H
#define BULKHEAD_APISERVER_READ_H

#include "apiserver/selector.h"
#include "apiserver/server.h"

/* Answers one object. */
int read_get(struct call *call);

/* Answers a list, or a page of one. */
int read_list(struct call *call);

/* Opens a watch; the reply stays open. */
int read_watch(struct call *call);

/* The selectors of the query. Release both with selector_done(). */
int read_selectors(struct call *call, struct selector *ret_labels, struct selector *ret_fields);

#endif
