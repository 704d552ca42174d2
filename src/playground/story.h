/* story.h - the main job shown step by step, each promise checked where it is made.
 *
 * The article's app is applied and placed, scaled, given another policy and another zone, rolled to
 * a new template and deleted. kubectl is used where it is installed, as a user would; without it
 * the same objects are applied by the built-in client.
 */
#ifndef BULKHEAD_PLAYGROUND_STORY_H
#define BULKHEAD_PLAYGROUND_STORY_H

#include "playground/ground.h"

#include <signal.h>

struct story_options {
    const char *assets;
    bool keep;                             /* do not delete the app at the end */
    bool kubectl;                          /* use it */
    const volatile sig_atomic_t *stopping; /* becomes other than 0: the story breaks off there */
};

/* Tells the story on stdout. Returns 0 when every promise held, 1 with the first broken one told,
 * or when it was broken off. */
int story_tell(struct ground *ground, const struct story_options *options);

#endif
