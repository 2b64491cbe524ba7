-- +goose Up

-- What a signed ruling was signed with. nonce is in the signed bytes: no two rulings share one.
ALTER TABLE messages ADD COLUMN signature TEXT NOT NULL DEFAULT '';
ALTER TABLE messages ADD COLUMN nonce     TEXT NOT NULL DEFAULT '';
ALTER TABLE messages ADD COLUMN principal TEXT NOT NULL DEFAULT '';

CREATE UNIQUE INDEX messages_by_nonce ON messages (nonce) WHERE nonce <> '';

-- The allowed-signers file as frozen with the batch; signers_digest is its sha256.
ALTER TABLE batches ADD COLUMN signers TEXT NOT NULL DEFAULT '';

PRAGMA user_version = 2;
