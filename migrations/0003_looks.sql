-- +goose Up

-- What an engine with many held tasks asks at each look, so that a look costs what is in motion and not what waits.
CREATE INDEX runs_by_shim ON runs (shim_pid);
CREATE INDEX tasks_by_state ON tasks (batch, state);
CREATE INDEX holds_by_deadline ON holds (batch, deadline) WHERE state = 'open' AND expired_at = 0;
CREATE INDEX holds_by_opening ON holds (batch, opened_at) WHERE state = 'open';

PRAGMA user_version = 3;
