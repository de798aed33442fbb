/* An attempt that an engine executes: intent, order, gate, adoption, end (S52 to S56).

   The engine is a bad one: it delivers an order twice, loses its answers, and tells nobody what it has. Watchers die
   at any moment. Work dies, or is cut off from the gate; cut off, it ends itself before anybody may take it for dead.
   The report of its end may take as long as it likes.

   A mistake is planted by its name, as in `spin -DNO_GATE`.                                                       */

#define ATTEMPTS 2
#define NOBODY 255

mtype = { none, intended, accepted, begun, over };
mtype record = none;         /* of the newest attempt */
byte attempt = 1;
byte watcher = NOBODY;       /* who has the lease */
byte orders[ATTEMPTS + 1];   /* copies on the engine that have not come to the gate */
byte begins[ATTEMPTS + 1];   /* how often the attempt began */
byte living;                 /* pieces of work that have begun and still run */
bool forgotten;              /* by the engine */
bool cut;                    /* the work gives no sign of life */
byte told;                   /* an end on its way to the store: the attempt that it is of */
byte ends;                   /* ends that the store has accepted */
byte sent = 2, deaths = 2, doubles = 1;  /* how often each may still happen */

inline submit() {
    assert(record != none);  /* S52: the reference is stored first */
    orders[attempt]++;
    if :: doubles > 0 -> doubles--; orders[attempt]++ :: skip fi  /* delivered twice */
}

proctype Watcher(byte me) {
end:
    do
    :: d_step { watcher == NOBODY && ends == 0 -> watcher = me  /* it leases, or adopts what another left (S54) */
#ifdef RETRIES
            ; if :: record != none && attempt < ATTEMPTS -> attempt++; record = none :: else fi
#endif
        }
#ifdef SENDS_FIRST
    :: atomic { watcher == me && record == none && sent > 0 -> sent--; submit() }
#endif
    :: d_step { watcher == me && record == none -> record = intended }
    :: atomic { watcher == me && record == intended && sent > 0 -> sent--;
            submit();
            if :: record = accepted :: skip fi }  /* the answer may be lost: it is in doubt, and sends again */
    :: d_step { watcher == me && deaths > 0 -> deaths--; watcher = NOBODY }
    :: atomic { watcher == me && record == begun && cut &&
#ifndef HASTY
            living == 0 &&  /* it has given no sign of life for longer than work lives without an answer */
#endif
            attempt < ATTEMPTS -> attempt++; record = none; cut = false; watcher = NOBODY }
#ifdef FORGETS_FIRST
    :: d_step { watcher == me && record == begun -> forgotten = true }
#else
    :: d_step { watcher == NOBODY && record == over -> forgotten = true }  /* the engine may forget it */
#endif
    od
}

/* Work: a copy comes to the gate, begins if it is the first, and ends. */
proctype Work() {
    byte own;
end:
    do
    :: atomic { (orders[1] > 0 || orders[2] > 0) ->
            if :: orders[1] > 0 -> own = 1 :: orders[2] > 0 -> own = 2 fi;
            orders[own]--;
            if
#ifdef NO_GATE
            :: ends == 0 ->
#else
            :: own == attempt && ends == 0 && (record == intended || record == accepted) ->
#endif
                record = begun; begins[own]++; living++;
                assert(begins[own] <= 1);  /* S53: an attempt begins at most once */
                assert(living <= 1)        /* and none beside a living one (S54) */
            :: else -> own = 0  /* it leaves without having done anything */
            fi };
        if
        :: own == 0
        :: own > 0 ->
            if
            :: atomic { told == 0 -> living--; told = own; if :: cut = true :: skip fi }  /* it ends; the report may be slow */
            :: d_step { cut = true }; d_step { living-- }  /* it dies, or is cut off and ends itself */
            fi
        fi;
        own = 0
    od
}

/* The report of an end reaches the store, now or later. */
active proctype Wire() {
end:
    do
    :: atomic { told > 0 ->
            if
#ifdef ANY_END
            :: ends == 0 ->
#else
            :: told == attempt && record == begun ->
#endif
                assert(told == attempt && ends == 0);  /* S56: once, and from the newest attempt only */
                ends++; record = over; watcher = NOBODY
            :: else
            fi;
            told = 0 }
    od
}

init { atomic { run Watcher(0); run Watcher(1); run Work(); run Work() } }

ltl ends_once { [] (ends <= 1 && (!forgotten || ends == 1)) }
