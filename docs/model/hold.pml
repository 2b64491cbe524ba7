/*
 * One task in one lane, from its worker's question to its landing, while anything may be killed at any instant.
 *
 * What is modelled: a worker under its shim, people who rule, two processes that can be the engine, and between them the store,
 * the kernel's locks, the lane's files and the integration branch. What is one transaction or one system call in the code is
 * one atomic step here; between any two steps anything else may happen, and anything may be killed. The function that a step
 * stands for is named beside it.
 *
 * What is left out: other tasks and lanes, what is in a merge, back-off and budgets (a task may have RUNS runs), takeovers,
 * reserved and signed rulings. The store is taken at its word: what was committed stays.
 *
 * An assumption: two engines are alive at once only when somebody removes the lock file under one (LOSSES), and not in the
 * instant between the record of a landing's intent and the move of the branch, which no store can fence.
 *
 * Each invariant is a variable that says what must never be. A switch (-DNAME) forgets one thing that the code does; such a
 * twin must be refused, by the invariant that model_test.go names. docs/architecture.md lists both.
 */

#ifndef ASKS
#define ASKS 2 /* questions of the worker */
#endif
#ifndef RUNS
#define RUNS 3 /* runs of the worker; the last one that does not land stalls the task */
#endif
#ifndef KILLS
#define KILLS 2 /* of engines, shims, workers and commands, together */
#endif
#ifndef LOSSES
#define LOSSES 1 /* of the lock file under a live engine */
#endif
#ifndef HALTS
#define HALTS 1 /* signals that park an engine */
#endif
#ifndef ABORTS
#define ABORTS 1 /* commands that give the batch up */
#endif
#ifndef RULERS
#define RULERS 2 /* people who rule at the same time */
#endif

/* ---- the store ---- */

mtype = { pending, running, held, stalled, failed, succeeded }; /* lanes.TaskState */
mtype = { none, starting, live, exited };                       /* lanes.RunState; none: it is judged */
mtype = { unasked, open, released, cancelled };                 /* hold.State */
mtype = { nothing, waiting, inflight, acked };                  /* hold.Delivery */

mtype task = pending;
mtype newest = none;    /* the newest run of the worker */
byte runs;              /* its number */
mtype state[2] = unasked;
mtype delivery[2] = nothing;
bool expired[2];        /* hold.Record.ExpiredAt */
bool paused;            /* lanes.Batch.Phase */
bool intent;            /* a land effect is owed */
byte fence;             /* lanes.Lease.Fence */
bool given;             /* lanes.Lease.EndedAt: the last owner gave the repository back */

/* ---- git, the kernel, the lane's files, processes ---- */

byte merges;            /* how often the lane's work is in the integration branch */
byte lock;              /* the engine that has the lock file; 0 none */
byte claim;             /* the run that wrote .DONE */
byte record;            /* the newest run with a shim.json */
byte exitRecord;        /* the newest run with an exit record */
byte spooled;           /* the question that lies in the spool; 0 none */
bool up[2];             /* the engine's process is alive */
bool halting[2];        /* it got a signal */
bool seen[2];           /* the task's row is still as it saw it: versions, without the numbers */
bool merging[2];        /* between the intent and the move of the branch */
bool abortAsked;        /* lanes.Request */

/* Where a shim's process stands. It has the lane's lock from locked to leaving. */
#define GONE 0
#define SPAWNED 1       /* nobody but its parent knows of it */
#define LOCKED 2        /* it has the lane */
#define FIRST 3         /* it found no record of another shim for its run */
#define WORKING 4       /* it has recorded itself, and its worker is alive */
#define LEAVING 5       /* its worker's tree has ended */
#define LOST 6          /* it was killed, and the worker lives on */
byte shim[2];
byte runOf[2];          /* the run that it was started for */

/* ---- what people and workers were told ---- */

bool toldAsk[2], toldRule[2], toldAck[2];
bool saidReleased[2];
byte applied[2];

byte kills, losses, halts, aborts;

/* ---- what must never be ---- */

bool landed_with_an_open_hold;
bool landed_with_an_unacknowledged_ruling;
bool landed_with_a_cancelled_hold;
bool landed_over_a_spooled_question;
bool acknowledged_message_lost;
bool ruling_applied_twice;
bool merged_twice;
bool two_workers_in_a_lane;
bool worker_without_a_run;
bool parked_under_a_ruling;
bool ruled_and_never_released;
bool batch_without_an_end;

inline mustNot(what, condition) {
	if
	:: condition -> what = true
	:: else
	fi;
	assert(!what)
}

#define OPEN1(k) (state[k] == open)
#define UNACKED1(k) (state[k] == released && delivery[k] != acked)
#define CANCELLED1(k) (state[k] == cancelled)
#define PROMISE1(k) (saidReleased[k] && delivery[k] == waiting)
#define LOST1(k) (toldAsk[k] && state[k] == unasked || toldRule[k] && (state[k] == unasked || state[k] == open) || toldAck[k] && state[k] == released && delivery[k] != acked)
#define ANY(p) (p(0) || p(1))
#define ENDED (task == stalled || task == failed || task == succeeded)
#define ALIVE(s) (shim[s] == WORKING || shim[s] == LOST)
#define HASLANE(s) (shim[s] >= LOCKED && shim[s] <= LEAVING)

/* The task's row changes: what engines saw of it is of the past. */
inline changed() { seen[0] = false; seen[1] = false }

/* Whoever dies takes along what it had said before it was on disk. */
inline lost() { mustNot(acknowledged_message_lost, ANY(LOST1)) }

inline landing() {
	mustNot(landed_with_an_open_hold, ANY(OPEN1));
	mustNot(landed_with_an_unacknowledged_ruling, ANY(UNACKED1));
	mustNot(landed_with_a_cancelled_hold, ANY(CANCELLED1));
	mustNot(landed_over_a_spooled_question, spooled != 0)
}

/* A question becomes a message, a hold and a held task in one transaction: engine.escalate, openHold. */
inline openHold(k) {
	if
	:: state[k] == unasked && !ENDED -> state[k] = open; task = held; changed()
	:: else
	fi
}

/* engine.DrainSpool. */
inline drain() {
	if
	:: spooled != 0 ->
		openHold(spooled - 1);
		spooled = 0
	:: else
	fi
}

#ifdef NO_LANE_LOCK
#define ORPHANS false /* two workers would be seen as one without a run first */
#else
#define ORPHANS true
#endif

/* A run is judged, or closed otherwise: runner.closeRunTx. Nobody answers for a worker of it any more. */
inline closeRun() {
	newest = none;
	mustNot(worker_without_a_run, ORPHANS && (ALIVE(0) || ALIVE(1)))
}

/* ---- a shim, and the worker below it ---- */

#ifdef NO_LANE_LOCK
#define LANEFREE(s) true
#else
#define LANEFREE(s) (!HASLANE(1 - s))
#endif

proctype Shim(byte s) {
	byte k, asked;
end:	do
	/* process.prepare: lockLane, or ErrLaneBusy */
	:: d_step { shim[s] == SPAWNED && LANEFREE(s) -> shim[s] = LOCKED }
	:: d_step { shim[s] == SPAWNED && !LANEFREE(s) -> shim[s] = GONE }
	/* shim.record: a run has one shim ever */
	:: d_step { shim[s] == LOCKED && record < runOf[s] && exitRecord < runOf[s] -> shim[s] = FIRST }
	:: d_step { shim[s] == LOCKED && (record >= runOf[s] || exitRecord >= runOf[s]) -> shim[s] = GONE }
	:: d_step {
		shim[s] == FIRST ->
		record = runOf[s];
		shim[s] = WORKING;
		asked = 0;
		mustNot(two_workers_in_a_lane, ALIVE(1 - s));
		mustNot(worker_without_a_run, ORPHANS && (runOf[s] != runs || newest == none || newest == exited))
	   }

	/* The worker asks over the socket: engine.Answer, escalate. The answer comes after the commit. */
	:: d_step {
		shim[s] == WORKING && asked == 0 && !ENDED && (state[0] == unasked || ASKS > 1 && state[1] == unasked && !toldAsk[1]) ->
		k = (state[0] == unasked -> 0 : 1);
		asked = k + 1;
#ifdef ACK_BEFORE_COMMIT
		toldAsk[k] = true
#else
		openHold(k)
#endif
	   }
	:: d_step {
		shim[s] == WORKING && asked != 0 ->
#ifdef ACK_BEFORE_COMMIT
		openHold(asked - 1);
#else
		toldAsk[asked - 1] = true;
#endif
		asked = 0
	   }
	/* Without a shim it leaves the question in the spool: process.callSpool. */
	:: d_step {
		shim[s] == LOST && spooled == 0 && asked == 0 && !ENDED && state[ASKS - 1] == unasked && !toldAsk[ASKS - 1] && (ASKS == 1 || state[0] != unasked) ->
		spooled = ASKS
	   }

	/* It acknowledges what stands in its prompt, or what it read while it ran: engine.acknowledge. */
	:: d_step { shim[s] == WORKING && UNACKED1(0) -> delivery[0] = acked; toldAck[0] = true }
	:: d_step { shim[s] == WORKING && ASKS > 1 && UNACKED1(1) -> delivery[1] = acked; toldAck[1] = true }

	/* It ends, and is not trusted: with a claim or without one, whatever it owes. Nobody reads the claim before that. */
	:: d_step { shim[s] == WORKING -> shim[s] = LEAVING }
	:: d_step { shim[s] == WORKING -> shim[s] = LEAVING; claim = runOf[s] }
	/* The shim takes what is left in the spool, leaves the exit record and goes: shim.run, leave. */
	:: d_step { shim[s] == LEAVING && spooled != 0 -> drain() }
	:: d_step { shim[s] == LEAVING && spooled == 0 -> exitRecord = runOf[s]; shim[s] = GONE }
	:: d_step { shim[s] == LOST -> shim[s] = GONE }
	:: d_step { shim[s] == LOST -> shim[s] = GONE; claim = runOf[s] }
	od
}

/* ---- `ferrox rule` ---- */

/* engine.ruleTx, releaseTx: what stands in the store is read in the transaction that releases. */
inline release() {
	applied[k]++;
	mustNot(ruling_applied_twice, applied[k] > 1);
	state[k] = released;
	delivery[k] = waiting;
	saidReleased[k] = owned && !paused && !given;
#ifndef RULE_LEAVES_THE_TASK
	if
	:: task == held && !ANY(OPEN1) ->
		task = (newest == starting || newest == live -> running : pending);
		changed()
	:: else
	fi
#endif
}

#ifdef RULE_LOOKS_FIRST
inline decide() {
	if
	:: OPEN1(k) -> d_step { release() }
	:: else
	fi;
	d_step { toldRule[k] = true; k = 0; owned = false }
}
#elif defined(ACK_BEFORE_COMMIT)
inline decide() {
	toldRule[k] = true;
	if
	:: d_step { kills < KILLS -> kills++; lost() }
	:: d_step { OPEN1(k) -> release() }
	:: else
	fi
}
#else
inline decide() {
	d_step {
		if
		:: OPEN1(k) -> release()
		:: else /* mailbox.Validate: repeated, not-open or conflicting-ruling; nothing moves */
		fi
	};
	if
	:: kills < KILLS -> kills++ /* it was killed before it could answer: its author gives it again */
	:: toldRule[k] = (state[k] == released)
	fi;
	d_step { k = 0; owned = false }
}
#endif

proctype Ruler() {
	byte k;
	bool owned;
end:	do
	:: atomic {
		(OPEN1(0) || state[0] == released) && !toldRule[0] -> k = 0;
		owned = (lock != 0) /* Lock.Held, before the transaction */
	   }
	   decide()
	:: atomic {
		ASKS > 1 && (OPEN1(1) || state[1] == released) && !toldRule[1] -> k = 1;
		owned = (lock != 0)
	   }
	   decide()
	od
}

/* ---- the engine ---- */

#ifdef NO_FENCE
#define FENCED true
#else
#define FENCED (my == fence) /* owner.update compares it in every transaction */
#endif

/* Its process ends, however it comes to that. The kernel gives the lock back. */
inline die(e) {
	up[e] = false;
	halting[e] = false;
	seen[e] = false;
	merging[e] = false;
	if
	:: lock == e + 1 -> lock = 0
	:: else
	fi
}

/* runner.halted: a signal, or an abort that has been asked for; no run is decided on or judged then */
#define HALTED (halting[me] || abortAsked)

/* The predicate, as far as holds and the claim go: gates.Complete. */
#ifdef LAND_UNRULED
#define NONE_OPEN true
#else
#define NONE_OPEN (!ANY(OPEN1))
#endif
#ifdef LAND_UNREAD
#define ALL_READ true
#else
#define ALL_READ (!ANY(UNACKED1))
#endif
#ifdef ABORT_IN_TWO_WRITES
#define NONE_CANCELLED true
#else
#define NONE_CANCELLED (!ANY(CANCELLED1))
#endif
#define RESOLVED (NONE_OPEN && ALL_READ && NONE_CANCELLED && task != failed)

inline recordLanding() {
	landing();
	task = succeeded;
	intent = false;
	changed();
	closeRun()
}

#define RECORDED(r) (runOf[0] == r && (shim[0] == WORKING || shim[0] == LEAVING) || runOf[1] == r && (shim[1] == WORKING || shim[1] == LEAVING))
#define WAITS(k) (OPEN1(k) && !expired[k])

inline deliver(k) {
	if
	:: UNACKED1(k) -> delivery[k] = inflight
	:: else
	fi
}

inline expire(k) {
	if
	:: !FENCED -> die(me)
	:: else -> expired[k] = true
	fi
}

inline park() {
	paused = true;
	given = true;
	mustNot(parked_under_a_ruling, task == pending && ANY(PROMISE1));
	die(me)
}

inline cancel(k) {
	if
	:: OPEN1(k) || UNACKED1(k) -> state[k] = cancelled; delivery[k] = nothing
	:: else
	fi
}

inline sweep(s) {
	if
	:: runOf[s] == target && shim[s] == LOST -> shim[s] = GONE
	:: else
	fi
}

/* process.Runner.Start waits for the record, or for the end of the shim. */
#define UNDERWAY(r) (runOf[0] == r && shim[0] >= SPAWNED && shim[0] <= FIRST || runOf[1] == r && shim[1] >= SPAWNED && shim[1] <= FIRST)

inline launch() {
	if
	:: record >= target || exitRecord >= target /* Find, Record */
	:: record < target && exitRecord < target ->
		d_step {
			if
			:: shim[0] == GONE -> shim[0] = SPAWNED; runOf[0] = target
			:: shim[0] != GONE && shim[1] == GONE -> shim[1] = SPAWNED; runOf[1] = target
			:: else
			fi
		};
		(record >= target || !UNDERWAY(target))
	fi;
	d_step {
		if
		:: !FENCED -> die(me)
		:: FENCED && runs == target && record >= target -> newest = live
		:: FENCED && runs == target && record < target && exitRecord >= target -> closeRun() /* it was barred */
		:: else
		fi
	}
}

inline neverStarted() {
	if
	:: record >= target -> /* Find */
		d_step {
			if
			:: !FENCED -> die(me)
			:: FENCED && runs == target -> newest = live
			:: else
			fi
		}
#ifndef FORGET_WHO_IS_COMING
	/* process.Runner.Bar: with the lane's lock, an exit record that every later shim of this run finds */
	:: d_step { record < target && !HASLANE(0) && !HASLANE(1) && exitRecord < target -> exitRecord = target }
	:: record < target && exitRecord >= target ->
#else
	:: record < target ->
#endif
		d_step {
			if
			:: !FENCED -> die(me)
			:: FENCED && runs == target -> closeRun()
			:: else
			fi
		}
	:: newest != starting || runs != target
	fi
}

inline judge() {
	d_step {
#ifndef LEAVE_THE_SPOOL
		drain();
#endif
		seen[me] = true;
		target = runs;
		saw = merges;
		ok = (claim == runs && RESOLVED)
	};
	if
	:: ok ->
		/* runner.recordIntent */
		d_step {
			if
			:: !FENCED -> die(me)
			:: FENCED && seen[me] && !paused -> intent = true; merging[me] = true
			:: else
			fi
		};
		/* gitcli.Publish: compare and swap */
		d_step {
			if
			:: merging[me] && merges == saw ->
				landing();
				merges++;
				mustNot(merged_twice, merges > 1)
			:: else -> ok = false
			fi;
			merging[me] = false
		};
		/* runner.landTx */
		d_step {
			if
			:: !FENCED -> die(me)
			:: FENCED && ok && seen[me] && task == running -> recordLanding()
			:: else
			fi
		}
	:: else ->
		/* runner.refuseClaim, afterRun */
		d_step {
			if
			:: !FENCED -> die(me)
			:: FENCED && seen[me] && !paused ->
				closeRun();
				if
				:: task == running && runs == RUNS -> task = stalled; changed()
				:: else
				fi
			:: else
			fi
		}
	fi;
	d_step { ok = false; saw = 0; target = 0 }
}

/* runner.recover: spools, owed effects by looking at what they did, then the batch runs again. */
inline recovery() {
#ifdef RESUME_WITHOUT_THE_PREDICATE
	d_step {
		if
		:: FENCED && newest == exited && claim == runs -> recordLanding()
		:: else
		fi
	};
#endif
	if
	:: intent ->
#ifdef RECOVER_BLINDLY
		saw = 0;
#else
		saw = merges; /* runner.settleLanding: the branch says which side of the crash it is on */
#endif
		d_step {
			if
			:: !FENCED -> die(me)
			:: FENCED && intent && saw == 0 -> intent = false
			:: FENCED && intent && saw != 0 && RESOLVED && task == running -> recordLanding()
			:: else -> die(me) /* a person has to look */
			fi;
			saw = 0
		}
	:: else
	fi;
	/* runner.reopen */
	d_step {
		if
		:: !FENCED -> die(me)
		:: else -> paused = false
		fi
	}
}

proctype Engine(byte me) {
	byte my, target, saw;
	bool ok;
end:	do
	/* engine.own: TryLock, then TakeLease. The second process is used while the first one is alive only. */
	:: atomic {
		!up[me] && lock == 0 && (me == 0 || up[0]) && !ENDED && !(paused && task == held) ->
		up[me] = true;
		lock = me + 1
	   };
	   {
		d_step {
			!merging[1 - me] ->
			fence++;
			my = fence;
			given = false;
#ifndef LEAVE_THE_SPOOL
			if
			:: newest != none -> drain()
			:: else
			fi
#endif
		};
		recovery();
		do
		/* runner.begin, recordRun: mayStart is asked in the transaction */
		:: d_step {
			newest == none && (task == pending || task == running) && !ANY(OPEN1) && runs < RUNS && !paused && !HALTED ->
			if
			:: !FENCED -> die(me)
			:: FENCED ->
				runs++;
				newest = starting;
				task = running;
				changed();
				deliver(0);
				deliver(1)
			fi
		   }

		/* the bound of the model: the task has had its runs */
		:: d_step {
			newest == none && (task == pending || task == running) && !ANY(OPEN1) && runs == RUNS && !paused && FENCED -> task = stalled; changed()
		   }

		/* runner.launch: Find, Start when there is no record, then the run is live */
		:: atomic { newest == starting && !HALTED -> target = runs };
		   launch()

		/* runner.neverStarted: going home before the spawn */
		:: d_step { newest == starting && HALTED -> target = runs };
		   neverStarted()

		/* runner.await: the shim is gone; recordExit, which sweeps after one that left no record */
		:: d_step {
			newest == live && !RECORDED(runs) ->
			target = runs;
			if
			:: exitRecord != target -> sweep(0); sweep(1)
			:: else
			fi
		   };
		   d_step {
			if
			:: !FENCED -> die(me)
			:: FENCED && runs == target -> newest = exited
			:: else
			fi
		   }

		/* runner.judge */
		:: newest == exited && !HALTED && !paused -> judge()

		/* runner.expireOne: the hold is read again in the transaction */
		:: d_step { OPEN1(0) && !expired[0] && !HALTED -> expire(0) }
		:: d_step { ASKS > 1 && OPEN1(1) && !expired[1] && !HALTED -> expire(1) }

		/* runner.rest: nothing is left but what is parked. runner.pause compares what the decision was made on */
		:: d_step { newest == none && task == held && !WAITS(0) && !WAITS(1) && !HALTED -> seen[me] = true };
		   d_step {
			if
			:: !FENCED -> die(me)
#ifdef PARK_BLINDLY
			:: FENCED -> park()
#else
			:: FENCED && seen[me] -> park()
			:: else
#endif
			fi
		   }
		/* runner.stepHalted: nothing is driven */
		:: d_step {
			halting[me] && !abortAsked && newest != starting && newest != live ->
			if
			:: !FENCED -> die(me)
			:: FENCED -> paused = true; given = true; die(me)
			fi
		   }

		/* runner.phaseCommand: `ferrox resume` asks the engine that lives to go on */
		:: d_step {
			paused && task != held && !ENDED && lock != 0 ->
			if
			:: !FENCED -> die(me)
			:: FENCED -> paused = false
			fi
		   }

		/* runner.abort: every hold and its task in one transaction, when no worker is alive */
		:: d_step {
			abortAsked && !ENDED && (newest == none || newest == exited) ->
			if
			:: !FENCED -> die(me)
			:: FENCED ->
				cancel(0);
				cancel(1);
#ifdef ABORT_IN_TWO_WRITES
				abortAsked = false;
				ok = true
#else
				task = failed;
				changed();
				closeRun()
#endif
			fi
		   }
#ifdef ABORT_IN_TWO_WRITES
		:: d_step { ok && !ENDED && (newest == none || newest == exited) -> task = failed; changed(); closeRun() }
#endif

		/* runner.end */
		:: d_step { ENDED && FENCED -> given = true; die(me) }
		:: d_step { ENDED && !FENCED -> die(me) }
		od
	   } unless { !up[me] };
	   d_step { my = 0; target = 0; saw = 0; ok = false }
	od
}

/* ---- what happens to them ---- */

inline killShim(s) {
	if
	:: shim[s] == WORKING -> shim[s] = LOST
	:: else -> shim[s] = GONE
	fi;
	kills++;
	lost()
}

proctype World() {
end:	do
	:: d_step { kills < KILLS && up[0] -> kills++; die(0); lost() }
	:: d_step { kills < KILLS && up[1] -> kills++; die(1); lost() }
	:: d_step { kills < KILLS && shim[0] != GONE && shim[0] != LOST -> killShim(0) }
	:: d_step { kills < KILLS && shim[1] != GONE && shim[1] != LOST -> killShim(1) }
	:: d_step { losses < LOSSES && lock == 1 -> losses++; lock = 0 }
	:: d_step { halts < HALTS && up[0] && !halting[0] -> halts++; halting[0] = true }
	:: d_step { aborts < ABORTS && runs > 0 && !ENDED -> aborts++; abortAsked = true }
	/* … or something that nobody notices, so that every batch can have its quiet end */
	:: d_step { kills < KILLS -> kills++ }
	:: d_step { losses < LOSSES -> losses++ }
	:: d_step { halts < HALTS -> halts++ }
	:: d_step { aborts < ABORTS -> aborts++ }
	:: timeout -> /* nothing moves any more */
		d_step {
			mustNot(ruled_and_never_released, !ENDED && (ANY(UNACKED1) || task == held && !ANY(OPEN1)));
			mustNot(batch_without_an_end, RULERS > 0 && !ENDED)
		};
		break
	od
}

init {
	atomic {
		run Engine(0);
#if LOSSES > 0
		run Engine(1);
#endif
		run Shim(0);
		run Shim(1);
#if RULERS > 0
		run Ruler();
#endif
#if RULERS > 1
		run Ruler();
#endif
		run World()
	}
}
