/* A run between two workers: lease, renewal, fence (S42, S43, S44).

   Time is counted. A worker that is not frozen acts before time goes on: it renews, it ends, or it stops itself when
   it could not renew for two thirds of its lease. A frozen worker does nothing while time goes on, and looks at its
   lease first when it continues. Renewals may fail, and the report of an end may take as long as it likes.

   A mistake is planted by its name, as in `spin -DNO_FENCE`.                                                      */

#define WORKERS 2
#define LEASE 3
#define STOPS 2        /* two thirds of a lease */
#define HORIZON 8
#define MAX_LOSSES 3
#define NOBODY 255

mtype = { queued, running, succeeded, lost };
mtype state = queued;
byte now;
byte token = 1;        /* of the newest attempt; a new one for each lease */
byte until;            /* when the lease ends */
byte losses;
byte begun;            /* attempts that began */
byte ends;             /* ends that the store has accepted */
bool works[WORKERS];   /* its code is running */
bool frozen[WORKERS];
byte renewed[WORKERS]; /* when it last renewed */
byte mine[WORKERS];    /* its token */
byte place[WORKERS];   /* which attempt it has, by number */
byte sent[WORKERS];    /* the token of an end that is on its way to the store */
byte sent_by[WORKERS]; /* and its attempt */

#ifdef LATE_STOP
#define must_stop(w) (now - renewed[w] > LEASE)
#else
#define must_stop(w) (now - renewed[w] >= STOPS)
#endif
#ifdef EARLY_REAPER
#define ran_out (now + 2 >= until)
#else
#define ran_out (now >= until)
#endif
#ifdef NO_FENCE
#define is_newest(t) (state == running)
#else
#define is_newest(t) (state == running && token == t)
#endif

proctype Worker(byte w) {
end:
    do
    :: atomic { !works[w] && !frozen[w] && state == queued ->
            assert(!works[1 - w] || frozen[1 - w]);  /* two at once only while one is frozen (S42) */
            state = running;
#ifndef SAME_TOKEN
            token++;
#endif
            until = now + LEASE; begun++; mine[w] = token; place[w] = begun; renewed[w] = now; works[w] = true;
#ifdef AT_MOST_ONCE
            assert(begun <= 1);  /* S43 */
#endif
        }
    :: d_step { works[w] && !frozen[w] && is_newest(mine[w]) && renewed[w] < now -> until = now + LEASE; renewed[w] = now }
    :: d_step { works[w] && !frozen[w] && !is_newest(mine[w]) -> works[w] = false }      /* a renewal says that it is not its own */
    :: d_step { works[w] && !frozen[w] && must_stop(w) -> works[w] = false }   /* it could not renew */
    :: d_step { works[w] && !frozen[w] && !must_stop(w) && sent[w] == 0 ->     /* its code has ended, and it says so */
            works[w] = false; sent[w] = mine[w]; sent_by[w] = place[w] }
    :: atomic { sent[w] > 0 ->                                                 /* that reaches the store, now or later */
            if
            :: is_newest(sent[w]) ->
                assert(sent_by[w] == begun && ends == 0);  /* only the newest attempt ends the run, and only once */
                ends++; state = succeeded
            :: else
            fi;
            sent[w] = 0; sent_by[w] = 0 }
    :: d_step { works[w] -> works[w] = false; frozen[w] = false }              /* it dies; another takes its place */
    :: d_step { works[w] && !frozen[w] -> frozen[w] = true }
    :: d_step { frozen[w] -> frozen[w] = false;
#ifndef GOES_ON
            if :: must_stop(w) -> works[w] = false :: else fi
#endif
        }
    od
}

active proctype Reaper() {
end:
    do
    :: d_step { state == running && ran_out ->
            losses++;
            if
#ifdef AT_MOST_ONCE
#ifndef REPEATS
            :: state = lost
#else
            :: state = queued
#endif
#else
            :: losses >= MAX_LOSSES -> state = lost
            :: else -> state = queued
#endif
            fi }
    od
}

active proctype Clock() {
end:
    do
    :: d_step { now < HORIZON && (!works[0] || frozen[0] || !must_stop(0)) && (!works[1] || frozen[1] || !must_stop(1)) -> now++ }
    od
}

init { atomic { run Worker(0); run Worker(1) } }

ltl holds_once { [] (ends <= 1 && (state != succeeded || ends == 1)) }
