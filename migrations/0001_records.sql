-- +goose Up

-- Conventions. Instants are whole microseconds since 1970-01-01 UTC, 0 for "not yet". Flags are 0 or 1. Lists are JSON.
-- version counts the changes of a row; a writer names the one that its decision was made on. seq gives the order in which
-- rows were written.

CREATE TABLE batches (
    seq             INTEGER PRIMARY KEY,
    id              TEXT    NOT NULL UNIQUE,
    phase           TEXT    NOT NULL,
    cause           TEXT    NOT NULL,
    why             TEXT    NOT NULL,
    pausing         INTEGER NOT NULL CHECK (pausing IN (0, 1)),
    base            TEXT    NOT NULL,
    base_ref        TEXT    NOT NULL,
    integration     TEXT    NOT NULL,
    head            TEXT    NOT NULL,
    lane_limit      INTEGER NOT NULL,
    lanes_dir       TEXT    NOT NULL,
    worker          TEXT    NOT NULL,
    hold_timeout_us INTEGER NOT NULL,
    review_level    INTEGER,
    settings        TEXT    NOT NULL,
    settings_digest TEXT    NOT NULL,
    signers_digest  TEXT    NOT NULL,
    created_at      INTEGER NOT NULL,
    ended_at        INTEGER NOT NULL,
    version         INTEGER NOT NULL
) STRICT;

CREATE TABLE tasks (
    batch        TEXT    NOT NULL REFERENCES batches (id),
    id           TEXT    NOT NULL,
    seq          INTEGER NOT NULL,
    title        TEXT    NOT NULL,
    size         TEXT    NOT NULL,
    path         TEXT    NOT NULL,
    depends_on   TEXT    NOT NULL,
    scoped       INTEGER NOT NULL CHECK (scoped IN (0, 1)),
    scope        TEXT    NOT NULL,
    review_level INTEGER NOT NULL,
    gates        TEXT    NOT NULL,
    finished     INTEGER NOT NULL CHECK (finished IN (0, 1)),
    state        TEXT    NOT NULL,
    lane         INTEGER NOT NULL,
    iteration    INTEGER NOT NULL,
    spent        INTEGER NOT NULL,
    no_progress  INTEGER NOT NULL,
    steps_done   INTEGER NOT NULL,
    steps_total  INTEGER NOT NULL,
    boxes        INTEGER NOT NULL,
    empty        INTEGER NOT NULL CHECK (empty IN (0, 1)),
    authorized   TEXT    NOT NULL,
    merge        TEXT    NOT NULL,
    reasons      TEXT    NOT NULL,
    feedback     TEXT    NOT NULL,
    retry_at     INTEGER NOT NULL,
    started_at   INTEGER NOT NULL,
    ended_at     INTEGER NOT NULL,
    version      INTEGER NOT NULL,
    PRIMARY KEY (batch, id)
) STRICT;

CREATE TABLE lanes (
    batch    TEXT    NOT NULL REFERENCES batches (id),
    number   INTEGER NOT NULL,
    state    TEXT    NOT NULL,
    task     TEXT    NOT NULL,
    worktree TEXT    NOT NULL,
    branch   TEXT    NOT NULL,
    base     TEXT    NOT NULL,
    head     TEXT    NOT NULL,
    version  INTEGER NOT NULL,
    PRIMARY KEY (batch, number)
) STRICT;

CREATE TABLE runs (
    seq         INTEGER PRIMARY KEY,
    id          TEXT    NOT NULL UNIQUE,
    batch       TEXT    NOT NULL REFERENCES batches (id),
    task        TEXT    NOT NULL,
    lane        INTEGER NOT NULL,
    iteration   INTEGER NOT NULL,
    state       TEXT    NOT NULL,
    dir         TEXT    NOT NULL,
    token       TEXT    NOT NULL,
    shim_pid    INTEGER NOT NULL,
    shim_start  INTEGER NOT NULL,
    shim_boot   TEXT    NOT NULL,
    shim_pidns  INTEGER NOT NULL,
    worker_pid  INTEGER NOT NULL,
    started_at  INTEGER NOT NULL,
    ended_at    INTEGER NOT NULL,
    exit_code   INTEGER NOT NULL,
    signal      TEXT    NOT NULL,
    failure     TEXT    NOT NULL,
    ended_by    TEXT    NOT NULL,
    head_before TEXT    NOT NULL,
    done_before TEXT    NOT NULL,
    rulings     TEXT    NOT NULL,
    opened_hold INTEGER NOT NULL CHECK (opened_hold IN (0, 1)),
    outcome     TEXT    NOT NULL,
    version     INTEGER NOT NULL
) STRICT;

CREATE INDEX runs_by_task ON runs (batch, task);
CREATE INDEX runs_by_state ON runs (batch, state);
CREATE INDEX runs_by_token ON runs (token);

CREATE TABLE holds (
    seq             INTEGER PRIMARY KEY,
    id              TEXT    NOT NULL UNIQUE,
    batch           TEXT    NOT NULL REFERENCES batches (id),
    task            TEXT    NOT NULL,
    lane            INTEGER NOT NULL,
    run             TEXT    NOT NULL,
    gate            TEXT    NOT NULL,
    question        TEXT    NOT NULL,
    state           TEXT    NOT NULL,
    reserved_for    TEXT    NOT NULL,
    opened_at       INTEGER NOT NULL,
    deadline        INTEGER NOT NULL,
    expired_at      INTEGER NOT NULL,
    ruling          TEXT    NOT NULL,
    ruling_verdict  TEXT    NOT NULL,
    ruling_text     TEXT    NOT NULL,
    ruling_role     TEXT    NOT NULL,
    ruling_by       TEXT    NOT NULL,
    ruling_head     TEXT    NOT NULL,
    ruling_signed   INTEGER NOT NULL CHECK (ruling_signed IN (0, 1)),
    ruled_at        INTEGER NOT NULL,
    delivery        TEXT    NOT NULL,
    delivery_run    TEXT    NOT NULL,
    acknowledged_at INTEGER NOT NULL,
    noted_at        INTEGER NOT NULL,
    cancelled_at    INTEGER NOT NULL,
    cancel_reason   TEXT    NOT NULL,
    version         INTEGER NOT NULL
) STRICT;

CREATE INDEX holds_by_task ON holds (batch, task);
CREATE INDEX holds_by_state ON holds (state, delivery);
CREATE INDEX holds_by_ruling ON holds (ruling);

CREATE TABLE messages (
    seq        INTEGER PRIMARY KEY,
    id         TEXT    NOT NULL UNIQUE,
    batch      TEXT    NOT NULL REFERENCES batches (id),
    task       TEXT    NOT NULL,
    lane       INTEGER NOT NULL,
    type       TEXT    NOT NULL,
    role       TEXT    NOT NULL,
    sender     TEXT    NOT NULL,
    reply_to   TEXT    NOT NULL,
    gate       TEXT    NOT NULL,
    verdict    TEXT    NOT NULL,
    text       TEXT    NOT NULL,
    head       TEXT    NOT NULL,
    signed     INTEGER NOT NULL CHECK (signed IN (0, 1)),
    reserved   TEXT    NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE INDEX messages_by_task ON messages (batch, task);
CREATE INDEX messages_by_reply ON messages (reply_to);

CREATE TABLE events (
    seq   INTEGER PRIMARY KEY,
    at    INTEGER NOT NULL,
    batch TEXT    NOT NULL,
    type  TEXT    NOT NULL,
    task  TEXT    NOT NULL,
    lane  INTEGER NOT NULL,
    ref   TEXT    NOT NULL,
    name  TEXT    NOT NULL,
    text  TEXT    NOT NULL,
    data  TEXT    NOT NULL
) STRICT;

CREATE INDEX events_by_batch ON events (batch);
CREATE INDEX events_by_task ON events (batch, task);

CREATE TABLE effects (
    seq        INTEGER PRIMARY KEY,
    key        TEXT    NOT NULL UNIQUE,
    batch      TEXT    NOT NULL REFERENCES batches (id),
    kind       TEXT    NOT NULL,
    task       TEXT    NOT NULL,
    lane       INTEGER NOT NULL,
    payload    TEXT    NOT NULL,
    state      TEXT    NOT NULL,
    outcome    TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    settled_at INTEGER NOT NULL
) STRICT;

CREATE INDEX effects_by_state ON effects (batch, state);

-- batch is no reference here and in events and requests: they can come before any batch.
CREATE TABLE leases (
    fence       INTEGER PRIMARY KEY,
    owner_pid   INTEGER NOT NULL,
    owner_start INTEGER NOT NULL,
    owner_boot  TEXT    NOT NULL,
    owner_pidns INTEGER NOT NULL,
    batch       TEXT    NOT NULL,
    taken_at    INTEGER NOT NULL,
    ended_at    INTEGER NOT NULL,
    reason      TEXT    NOT NULL
) STRICT;

CREATE TABLE requests (
    seq        INTEGER PRIMARY KEY,
    id         TEXT    NOT NULL UNIQUE,
    verb       TEXT    NOT NULL,
    batch      TEXT    NOT NULL,
    args       TEXT    NOT NULL,
    done       INTEGER NOT NULL CHECK (done IN (0, 1)),
    exit       INTEGER NOT NULL,
    answer     TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    done_at    INTEGER NOT NULL
) STRICT;

CREATE INDEX requests_by_done ON requests (done);

CREATE TABLE supervisors (
    pid      INTEGER NOT NULL,
    start    INTEGER NOT NULL,
    boot     TEXT    NOT NULL,
    pidns    INTEGER NOT NULL,
    added_at INTEGER NOT NULL,
    PRIMARY KEY (pid, start, boot, pidns)
) STRICT;

-- For people: the log with times that can be read.
CREATE VIEW event_log AS
SELECT seq, datetime(at / 1000000, 'unixepoch') AS at_utc, batch, task, lane, type, name, ref, text
FROM events;

-- For people: every hold with its age and its deadline as times that can be read.
CREATE VIEW hold_log AS
SELECT id, batch, task, lane, gate, state, delivery,
       datetime(opened_at / 1000000, 'unixepoch') AS opened_utc,
       datetime(deadline / 1000000, 'unixepoch')  AS deadline_utc,
       ruling_verdict, ruling_by, question
FROM holds;

PRAGMA user_version = 1;
