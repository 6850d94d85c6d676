-- What curation adds to the first ledger. Frozen: later schemas are steps on top of it.
ALTER TABLE checkpoints ADD COLUMN verdict TEXT DEFAULT '' NOT NULL;

ALTER TABLE checkpoints ADD COLUMN note TEXT DEFAULT '' NOT NULL;

ALTER TABLE checkpoints ADD COLUMN reviewed_ns INTEGER;

ALTER TABLE clients ADD COLUMN transport TEXT DEFAULT '' NOT NULL;

ALTER TABLE clients ADD COLUMN reads INTEGER DEFAULT 0 NOT NULL;

ALTER TABLE clients ADD COLUMN writes INTEGER DEFAULT 0 NOT NULL;

CREATE TABLE blocked (
  block_key BLOB NOT NULL,
  agent_id TEXT DEFAULT '' NOT NULL,
  text TEXT,
  created_ns INTEGER NOT NULL,
  version INTEGER NOT NULL,
  PRIMARY KEY (block_key, agent_id)
)
 WITHOUT ROWID;

CREATE TABLE blocked_attempts (
  block_key BLOB NOT NULL,
  client TEXT NOT NULL,
  count INTEGER NOT NULL,
  last_ns INTEGER NOT NULL,
  PRIMARY KEY (block_key, client)
)
 WITHOUT ROWID;

CREATE TABLE proposals (
  id TEXT NOT NULL,
  kind TEXT NOT NULL,
  source TEXT NOT NULL,
  agent_id TEXT,
  actor_id INTEGER NOT NULL,
  created_ns INTEGER NOT NULL,
  payload TEXT NOT NULL,
  base TEXT NOT NULL,
  same_key TEXT NOT NULL,
  state TEXT NOT NULL,
  decided_seq INTEGER,
  PRIMARY KEY (id),
  FOREIGN KEY(actor_id) REFERENCES actors (id)
);

CREATE INDEX proposals_open ON proposals (state, source, created_ns);

CREATE INDEX proposals_same ON proposals (same_key);

CREATE TABLE policies (
  client TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  access TEXT NOT NULL,
  version INTEGER NOT NULL,
  PRIMARY KEY (client, agent_id)
)
 WITHOUT ROWID;

CREATE TABLE recalls_daily (
  day TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  client TEXT NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (day, agent_id, client)
)
 WITHOUT ROWID;

CREATE TABLE positions (
  entity_id TEXT NOT NULL,
  x REAL NOT NULL,
  y REAL NOT NULL,
  PRIMARY KEY (entity_id)
)
 WITHOUT ROWID;

CREATE TABLE extractions (
  fact_id TEXT NOT NULL,
  text_key BLOB NOT NULL,
  rules INTEGER NOT NULL,
  PRIMARY KEY (fact_id)
)
 WITHOUT ROWID;

