/* A slot, from two tickers that plan it to its run or its reason (S1, S3, S4, S7).

   The store is memory that is changed in atomic steps. Between any two steps a ticker may die, its connection may be
   cut (then the server rolls its transaction back, and the ticker learns that late or never), and somebody may edit
   the job. Two ways to commit are checked:

   - ROWS, the SQL stores: a claim locks the job's row, and a commit inserts runs and moves the cursor in one step;
   - INTENT, MongoDB: a claim only reads, a commit compares the job's version, moves the cursor and stores the plan.
     The runs are inserted later, one by one, by whoever meets the plan first; inserting them again changes nothing.

   A mistake is planted by its name, as in `spin -DROWS -DNO_KEY -DNO_FENCE`.                                     */

#define SLOTS 3
#define NOBODY 255

byte now;                    /* the newest slot that is due */
byte cursor;                 /* every slot up to here was decided */
byte version;                /* grows with each write of the job */
byte lock = NOBODY;          /* the ticker whose transaction has the job's row */
bool key[SLOTS + 1];         /* the unique key (schedule, slot) */
byte runs[SLOTS + 1];        /* runs that were made of a slot */
byte reasons[SLOTS + 1];     /* recorded decisions about it */
bool intent[SLOTS + 1];      /* runs of a stored plan that are still to be inserted */
byte deaths = 1, cuts = 1, edits = 1;  /* how often each may still happen */

inline insert(slot) {
#ifdef NO_KEY
    runs[slot]++;
#else
    if
    :: !key[slot] -> key[slot] = true; runs[slot]++
    :: else  /* it is there: nothing changes */
    fi;
#endif
    assert(runs[slot] <= 1)  /* S1: no slot twice */
}

inline move_cursor(to) {
    assert(to >= cursor);  /* S4: never back */
    cursor = to;
    version++
}

proctype Ticker(byte me) {
    byte from, until, slot, seen;
    bool start[SLOTS + 1];  /* the plan: a run, or a reason */
end:
    do
#ifdef ROWS
    :: d_step { lock == NOBODY && cursor < now -> lock = me; from = cursor; until = now; seen = version };
#else
    :: d_step { cursor < now -> from = cursor; until = now; seen = version };
#endif
        slot = from + 1;
        do
        :: slot <= until -> if :: start[slot] = true :: start[slot] = false fi; slot++
        :: else -> break
        od;
        if
        :: d_step { deaths > 0 -> deaths--; if :: lock == me -> lock = NOBODY :: else fi }; goto end  /* it starts anew */
        :: skip
        fi;
#ifdef CURSOR_FIRST  /* the cursor is moved by a statement of its own */
        atomic { if :: lock == me && version == seen -> move_cursor(until); seen = version :: else -> goto end fi };
        if
        :: d_step { deaths > 0 -> deaths--; if :: lock == me -> lock = NOBODY :: else fi }; goto end
        :: skip
        fi;
#endif
        atomic {
            if
#ifdef NO_FENCE
            :: true ->
#else
#ifdef ROWS
            :: lock == me ->
#else
            :: version == seen ->
#endif
#endif
                slot = from + 1;
                do
                :: slot <= until && start[slot] ->
#ifdef ROWS
                    insert(slot); slot++
#else
                    intent[slot] = true; slot++
#endif
                :: slot <= until && !start[slot] ->
#ifndef SILENT
                    reasons[slot]++;
#endif
                    slot++
                :: else -> break
                od;
#ifndef CURSOR_FIRST
                move_cursor(until);
#endif
                if :: lock == me -> lock = NOBODY :: else fi
            :: else  /* rolled back, or another was first */
            fi;
            slot = 0; from = 0; until = 0; seen = 0
        }
#ifndef ROWS
    :: atomic { (intent[1] || intent[2] || intent[3]) ->  /* it applies a stored plan, from the oldest slot on */
            if :: intent[1] -> slot = 1 :: !intent[1] && intent[2] -> slot = 2 :: else -> slot = 3 fi };
        atomic { insert(slot) };
        d_step { intent[slot] = false; slot = 0 }
#endif
    od
}

active proctype Server() {  /* time goes on, connections are cut, people edit */
end:
    do
    :: d_step { now < SLOTS -> now++ }
    :: d_step { cuts > 0 && lock != NOBODY -> cuts--; lock = NOBODY }
    :: atomic { edits > 0 && lock == NOBODY && cursor == now && now > 0 -> edits--;  /* nothing pending: S24 */
            move_cursor(now) }
    od
}

init { atomic { run Ticker(0); run Ticker(1) } }

/* S7: whenever the cursor has passed a slot, it has a run, a run of a stored plan, or a reason; and never two. */
#define decided(s) (runs[s] + reasons[s] == 1 || (intent[s] && reasons[s] == 0))
ltl every_slot { [] ((cursor < 1 || decided(1)) && (cursor < 2 || decided(2)) && (cursor < 3 || decided(3))) }
