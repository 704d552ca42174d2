/* topology.h - decides how many replicas of one app run in which zone of which child cluster.
 *
 * Pure: no clock, no I/O, no log, and no allocation: the caller hands in every array, scratch
 *          included. The result depends on the set of cells, not on their order.
 * Units:   replicas everywhere; percents are whole percents of the replicas wanted.
 * Rounding: a cap is floor(replicas * percent / 100), judged on the target. One replica is always
 *          placeable and flagged.
 * Rules:   frozen > cap > room > at least one per wanted zone > monotone > fewest moves > spread >
 * ties. A change of replicas moves nothing; a change of policy or a rebalance lets spread outrank
 *          fewest moves, and among equal spreads the fewest moves win.
 * Cost:    linear in cells for the arrays, plus a search over zones for the water level.
 */
#ifndef BULKHEAD_CORE_TOPOLOGY_H
#define BULKHEAD_CORE_TOPOLOGY_H

#include <stdbool.h>
#include <stdint.h>

enum topology_spread {
    TOPOLOGY_BALANCED, /* as even as room and caps allow (water-filling) */
    TOPOLOGY_EQUAL,    /* zones differ by at most one, or it is a named failure */
    TOPOLOGY_CAPACITY, /* highest averages (Webster) by room, present included, within caps */
};

enum topology_when_short {
    TOPOLOGY_PARTIAL, /* place what fits, owe the rest */
    TOPOLOGY_REJECT,  /* keep the last placement */
};

/* What may change: why the scheduler was asked. */
enum topology_change {
    TOPOLOGY_REPLICAS,  /* the delta only: nothing that stays is moved */
    TOPOLOGY_POLICY,    /* policy changed: placed afresh, fewest moves among equal spreads */
    TOPOLOGY_REBALANCE, /* a person asked: the same freedom as a changed policy */
    TOPOLOGY_SHORTFALL, /* new room pays what is owed; nothing else changes */
};

/* Why a zone or a cell has what it has: the bound that decided. */
enum topology_reason {
    TOPOLOGY_BY_SHARE, /* its even or proportional share */
    TOPOLOGY_BY_CAP,
    TOPOLOGY_BY_ROOM,
    TOPOLOGY_BY_FREEZE,
    TOPOLOGY_BY_KEEP, /* what was there stayed */
    TOPOLOGY_UNUSED,
    TOPOLOGY_REASON_MAX,
};

/* What blocked the rest of the replicas, or the whole decision. */
enum topology_block {
    TOPOLOGY_PLACED,          /* nothing is owed */
    TOPOLOGY_BLOCK_CAP,       /* zone or cluster caps, with room left elsewhere */
    TOPOLOGY_BLOCK_ROOM,      /* no free room in any zone that may be used */
    TOPOLOGY_BLOCK_EXTENSION, /* other zones have room, but extension is not allowed */
    TOPOLOGY_BLOCK_FROZEN,    /* only frozen cells could take them */
    TOPOLOGY_BLOCK_EQUAL,     /* Equal cannot be met */
    TOPOLOGY_BLOCK_MAX,
};

#define TOPOLOGY_ZONES_MAX 64      /* zones of a region */
#define TOPOLOGY_CLUSTERS_MAX 1024 /* child clusters */
#define TOPOLOGY_CELLS_MAX 16384
#define TOPOLOGY_REPLICAS_MAX 1000000
#define TOPOLOGY_ROOM_MAX INT32_MAX

struct topology_policy {
    int32_t replicas; /* 0 or more */
    enum topology_spread spread;
    enum topology_when_short when_short;
    int32_t min_zones;           /* 1 or more; ignored when zones are named */
    int32_t max_zone_percent;    /* 1 to 100 */
    int32_t max_cluster_percent; /* 1 to 100 */
    bool extension;              /* zones beyond the chosen or named ones may be used */
};

/* A zone; its index in the array is its id. The array must be in ascending order of name. */
struct topology_zone {
    bool named;   /* the policy names it */
    bool avoided; /* the policy avoids it: its replicas leave on a policy change, none enter ever */
    uint64_t tie; /* topology_tie() of the app's uid and the zone's name */
};

/* One zone of one child cluster. */
struct topology_cell {
    int32_t zone;
    int32_t cluster; /* 0 .. clusters - 1, in ascending order of name */
    int32_t present; /* replicas that the last placement assigned here */
    int32_t room;    /* free replicas besides those present; negative reads as 0 */
    bool frozen;     /* keeps what it has and gains nothing */
    uint64_t tie;    /* topology_tie() of the app's uid and the cluster's name */
};

struct topology_input {
    struct topology_policy policy;
    enum topology_change change;
    const struct topology_zone *zones;
    int32_t zone_count;
    int32_t cluster_count;
    const struct topology_cell *cells;
    int32_t cell_count;
};

struct topology_cell_result {
    int32_t replicas;
    enum topology_reason reason;
};

struct topology_zone_result {
    int32_t replicas;
    enum topology_reason reason;
};

struct topology_result {
    struct topology_cell_result *cells; /* cell_count, caller's, in the order of the input */
    struct topology_zone_result *zones; /* zone_count, caller's */
    int32_t shortfall;                  /* replicas owed */
    int32_t moves;                      /* replicas that leave a cell because they enter another */
    enum topology_block block;          /* why shortfall > 0, or why it was rejected */
    bool rejected;   /* Reject or Equal could not be met: cells hold what was present */
    bool beyond_cap; /* one replica under a cap of 0, or frozen cells above a cap: flagged */
};

/* Salted tie-break order: FNV-1a 64 over the app's uid, a zero byte and the name, then a finalizer
 * so that low bits differ. Equal inputs give equal ties on every machine. */
uint64_t topology_tie(const char *uid, const char *name);

/* floor(replicas * percent / 100); 1 when that is 0 and replicas is 1. */
int32_t topology_cap(int32_t replicas, int32_t percent);

/* Bytes of scratch that topology_decide() needs for a problem of this size. */
uint64_t topology_scratch_bytes(int32_t zone_count, int32_t cluster_count, int32_t cell_count);

/* Decides. scratch: topology_scratch_bytes() bytes, 8-aligned, content meaningless before and
 * after. Returns 0; or ERR_INVALID, with *ret untouched, for an input outside the bounds above, a
 * cluster with two cells in one zone, or more than twice TOPOLOGY_REPLICAS_MAX present. */
int topology_decide(const struct topology_input *in, void *scratch, struct topology_result *ret);

/* CamelCase names for statuses; an unknown value gives "Unknown". Static storage. */
const char *topology_reason_name(enum topology_reason reason);

/* As above, for what blocked: "Placed", "ZoneCap", "NoRoom", "ExtensionOff", "Frozen",
 * "EqualRatio". */
const char *topology_block_name(enum topology_block block);

#endif
