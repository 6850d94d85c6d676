-- The first ledger. Frozen: later schemas are steps on top of it.
CREATE TABLE actors (
  id INTEGER NOT NULL,
  channel TEXT NOT NULL,
  client TEXT NOT NULL,
  client_version TEXT NOT NULL,
  session TEXT NOT NULL,
  PRIMARY KEY (id),
  UNIQUE (channel, client, client_version, session)
);

CREATE TABLE checkpoints (
  id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  created_ns INTEGER NOT NULL,
  payload BLOB NOT NULL,
  message_count INTEGER,
  restored_from TEXT,
  deleted INTEGER DEFAULT 0 NOT NULL,
  version INTEGER NOT NULL,
  PRIMARY KEY (id)
);

CREATE INDEX checkpoints_list ON checkpoints (agent_id, deleted, created_ns, id);

CREATE TABLE clients (
  id TEXT NOT NULL,
  pid INTEGER NOT NULL,
  process_started TEXT NOT NULL,
  program TEXT NOT NULL,
  version TEXT NOT NULL,
  client TEXT NOT NULL,
  since_ns INTEGER NOT NULL,
  seen_ns INTEGER NOT NULL,
  PRIMARY KEY (id)
);

CREATE TABLE edge_sources (
  from_id TEXT NOT NULL,
  to_id TEXT NOT NULL,
  relation TEXT NOT NULL,
  fact_id TEXT NOT NULL,
  PRIMARY KEY (from_id, to_id, relation, fact_id)
)
 WITHOUT ROWID;

CREATE INDEX edge_sources_fact ON edge_sources (fact_id);

CREATE TABLE edges (
  from_id TEXT NOT NULL,
  to_id TEXT NOT NULL,
  relation TEXT NOT NULL,
  created_ns INTEGER,
  weight REAL NOT NULL,
  made_by TEXT NOT NULL,
  version INTEGER NOT NULL,
  PRIMARY KEY (from_id, to_id, relation)
)
 WITHOUT ROWID;

CREATE INDEX edges_to ON edges (to_id);

CREATE TABLE entities (
  id TEXT NOT NULL,
  label TEXT NOT NULL,
  type TEXT NOT NULL,
  first_seen_ns INTEGER,
  last_seen_ns INTEGER,
  weight REAL NOT NULL,
  made_by TEXT NOT NULL,
  version INTEGER NOT NULL,
  PRIMARY KEY (id)
);

CREATE TABLE entity_names (
  name_key TEXT NOT NULL,
  entity_id TEXT NOT NULL,
  PRIMARY KEY (name_key)
)
 WITHOUT ROWID;

CREATE TABLE fact_refs (
  fact_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  ref TEXT NOT NULL,
  PRIMARY KEY (fact_id, kind, ref)
)
 WITHOUT ROWID;

CREATE INDEX fact_refs_by_ref ON fact_refs (kind, ref);

CREATE TABLE fact_terms (
  fact_no INTEGER NOT NULL,
  length INTEGER NOT NULL,
  rules INTEGER NOT NULL,
  data BLOB NOT NULL,
  PRIMARY KEY (fact_no)
);

CREATE TABLE mentions (
  fact_id TEXT NOT NULL,
  entity_id TEXT NOT NULL,
  rules INTEGER NOT NULL,
  PRIMARY KEY (fact_id, entity_id)
)
 WITHOUT ROWID;

CREATE INDEX mentions_entity ON mentions (entity_id);

CREATE TABLE meta (
  "key" TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY ("key")
)
 WITHOUT ROWID;

CREATE TABLE models (
  id INTEGER NOT NULL,
  name TEXT NOT NULL,
  dims INTEGER NOT NULL,
  state TEXT NOT NULL,
  PRIMARY KEY (id),
  UNIQUE (name)
);

CREATE TABLE settings (
  "key" TEXT NOT NULL,
  value TEXT NOT NULL,
  version INTEGER NOT NULL,
  PRIMARY KEY ("key")
)
 WITHOUT ROWID;

CREATE TABLE terms (
  id INTEGER NOT NULL,
  term TEXT NOT NULL,
  surface TEXT NOT NULL,
  PRIMARY KEY (id),
  UNIQUE (term)
);

CREATE TABLE facts (
  no INTEGER NOT NULL,
  id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  text TEXT NOT NULL,
  text_key BLOB NOT NULL,
  created_ns INTEGER NOT NULL,
  accessed_ns INTEGER,
  access_count INTEGER NOT NULL,
  weight REAL NOT NULL,
  superseded_by TEXT DEFAULT '' NOT NULL,
  confidence TEXT DEFAULT '' NOT NULL,
  kind TEXT DEFAULT '' NOT NULL,
  alias_source TEXT DEFAULT '' NOT NULL,
  pinned INTEGER DEFAULT 0 NOT NULL,
  pinned_ns INTEGER,
  origin TEXT NOT NULL,
  actor_id INTEGER NOT NULL,
  version INTEGER NOT NULL,
  PRIMARY KEY (no),
  UNIQUE (id),
  FOREIGN KEY(actor_id) REFERENCES actors (id)
);

CREATE INDEX facts_lineage ON facts (superseded_by) WHERE length(superseded_by) > 0;

CREATE INDEX facts_list ON facts (agent_id, created_ns, id);

CREATE INDEX facts_text ON facts (text_key);

CREATE TABLE journal (
  seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
  at_ns INTEGER NOT NULL,
  verb TEXT NOT NULL,
  agent_id TEXT,
  group_id TEXT NOT NULL,
  actor_id INTEGER NOT NULL,
  undoes TEXT,
  detail TEXT,
  FOREIGN KEY(actor_id) REFERENCES actors (id)
);

CREATE INDEX journal_actor ON journal (actor_id, seq);

CREATE INDEX journal_at ON journal (at_ns);

CREATE INDEX journal_group ON journal (group_id);

CREATE TABLE vector_index (
  model_id INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  applied_vec_seq INTEGER NOT NULL,
  ef_search INTEGER NOT NULL,
  library TEXT NOT NULL,
  PRIMARY KEY (model_id),
  FOREIGN KEY(model_id) REFERENCES models (id)
);

CREATE TABLE vectors (
  vec_seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
  model_id INTEGER NOT NULL,
  text_key BLOB NOT NULL,
  data BLOB NOT NULL,
  UNIQUE (model_id, text_key),
  FOREIGN KEY(model_id) REFERENCES models (id)
);

CREATE TABLE changes (
  seq INTEGER NOT NULL,
  n INTEGER NOT NULL,
  kind TEXT NOT NULL,
  target TEXT NOT NULL,
  agent_id TEXT,
  version_before INTEGER NOT NULL,
  version_after INTEGER NOT NULL,
  "before" TEXT,
  "after" TEXT,
  PRIMARY KEY (seq, n),
  FOREIGN KEY(seq) REFERENCES journal (seq)
)
 WITHOUT ROWID;

CREATE INDEX changes_agent ON changes (agent_id, seq);

CREATE INDEX changes_target ON changes (kind, target, seq);

