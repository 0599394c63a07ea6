-- A ledger of Hallmark 0.1.0, written by its code of 2026-11-21 (commit cbac1e7).
-- Budgets add up; no statements, allowances, nonces, compositions or costs.
BEGIN TRANSACTION;
CREATE TABLE hallmark_ledger_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT hallmark_ledger_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "hallmark_ledger_version" VALUES('0001');
CREATE TABLE ledger_accounts (
	name TEXT NOT NULL, 
	seq INTEGER NOT NULL, 
	hash TEXT NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "ledger_accounts" VALUES('people',8,'1d29e80b1759abf48c459aa4da3dae5c5de2f2a6b58faa9039c73f031e2fa79c');
INSERT INTO "ledger_accounts" VALUES('homes',3,'c01e0d55c2f9c6c9f35170dd48ca53d2ba38066bf1f4b0de9713d38cd909d3c1');
CREATE TABLE ledger_entries (
	account TEXT NOT NULL, 
	seq INTEGER NOT NULL, 
	at TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	release TEXT, 
	payload TEXT NOT NULL, 
	previous TEXT NOT NULL, 
	hash TEXT NOT NULL, 
	PRIMARY KEY (account, seq), 
	FOREIGN KEY(account) REFERENCES ledger_accounts (name)
)
 WITHOUT ROWID

;
INSERT INTO "ledger_entries" VALUES('homes',1,'2026-11-27T14:39:10.934161+00:00','open',NULL,'{"by":"steward","cap":{"delta":"0","epsilon":"1"},"neighbours":"add_remove","person":"household","reason":"data board","records":4}','c7a9be665997d251580d068bb84658a58386ccbfda72a6643bd0ece1a4ce46d5','c0d57db95e5d773864bab791ee2642493766d4146e576b4cb1f7d1eb2607c047');
INSERT INTO "ledger_entries" VALUES('homes',2,'2026-11-27T14:39:10.938797+00:00','reserve','dwellings','{"binding":"plan of dwellings","budget":{"delta":"0","epsilon":"1/3"}}','c0d57db95e5d773864bab791ee2642493766d4146e576b4cb1f7d1eb2607c047','c3646b466c98ca7769b056897f1b485b31df204fb1fa9555b03869bf2153b2f9');
INSERT INTO "ledger_entries" VALUES('homes',3,'2026-11-27T14:39:10.943704+00:00','charge','dwellings','{"call":"rooms","events":[{"epsilon":"1/50","event":"exponential_mechanism","times":1}],"outcome":"d0cfaa89b82608362c9718daaf227238221447fb04f1b2d338544608fb403d27","request":"asked rooms"}','c3646b466c98ca7769b056897f1b485b31df204fb1fa9555b03869bf2153b2f9','c01e0d55c2f9c6c9f35170dd48ca53d2ba38066bf1f4b0de9713d38cd909d3c1');
INSERT INTO "ledger_entries" VALUES('people',1,'2026-11-27T14:39:10.872878+00:00','open',NULL,'{"by":"steward","cap":{"delta":"1/10000","epsilon":"2"},"neighbours":"replace_one","person":null,"reason":"data board","records":1}','faefe38b080322d6ec8044fbb943a5aeceb8a52cad4ffaa47bc3fc969f8329e3','4cc61ea9ae7c2f2b8dcd4fe8e187c018313a675927378c2a2149f2f790bfc863');
INSERT INTO "ledger_entries" VALUES('people',2,'2026-11-27T14:39:10.882992+00:00','reserve','spring','{"binding":"plan of spring","budget":{"delta":"1/1000000","epsilon":"1/2"}}','4cc61ea9ae7c2f2b8dcd4fe8e187c018313a675927378c2a2149f2f790bfc863','e650757727976a6293861cc8cdaae75ecff23b2e6abffca38c2f17f8f1d3591e');
INSERT INTO "ledger_entries" VALUES('people',3,'2026-11-27T14:39:10.893292+00:00','charge','spring','{"call":"ages","events":[{"event":"discrete_laplace","l1":2,"scale":"7/2","times":1}],"outcome":"d426d15f249391664138535e7d0a76df953c0c262bf1e1df656c3d72ad0839e9","request":"asked ages"}','e650757727976a6293861cc8cdaae75ecff23b2e6abffca38c2f17f8f1d3591e','416ac94a329a08f2260c4aeae0dbb468a6eb1f1a559763c1ec497241262afc6c');
INSERT INTO "ledger_entries" VALUES('people',4,'2026-11-27T14:39:10.902038+00:00','charge','spring','{"call":"incomes","events":[{"event":"discrete_gaussian","l2_squared":2,"sigma2":"100","times":3,"unit_moves":2},{"epsilon":"1/50","event":"exponential_mechanism","times":1}],"outcome":"3b9f7973aa4cbf3e7158ff8584b5124a0d72c8b60f6cb728170c72c4b6faa45a","request":"asked incomes"}','416ac94a329a08f2260c4aeae0dbb468a6eb1f1a559763c1ec497241262afc6c','2ce0faf1f33c95c6816f3816d0d5190e083664a32902d445f261cfd5c64a2da1');
INSERT INTO "ledger_entries" VALUES('people',5,'2026-11-27T14:39:10.915383+00:00','reserve','summer','{"binding":"plan of summer","budget":{"delta":"0","epsilon":"1/4"}}','2ce0faf1f33c95c6816f3816d0d5190e083664a32902d445f261cfd5c64a2da1','d5b59494c76fed8696d41e09f83b5f23e23ef96f4ff3e25dcc621e306995936f');
INSERT INTO "ledger_entries" VALUES('people',6,'2026-11-27T14:39:10.921204+00:00','reserve','autumn','{"binding":"plan of autumn","budget":{"delta":"0","epsilon":"1/8"}}','d5b59494c76fed8696d41e09f83b5f23e23ef96f4ff3e25dcc621e306995936f','54df39f5447c1b04feb9912bf725b979973012e7943b78cc7277fd916f07b0ec');
INSERT INTO "ledger_entries" VALUES('people',7,'2026-11-27T14:39:10.926391+00:00','cancel','autumn','{"by":"steward","reason":"data board"}','54df39f5447c1b04feb9912bf725b979973012e7943b78cc7277fd916f07b0ec','732cf24846cdc671a21787198c7b1fc7fa94e614f5bc536dc31f4627c9e84f50');
INSERT INTO "ledger_entries" VALUES('people',8,'2026-11-27T14:39:10.930740+00:00','cap',NULL,'{"by":"steward","cap":{"delta":"1/10000","epsilon":"3"},"reason":"data board"}','732cf24846cdc671a21787198c7b1fc7fa94e614f5bc536dc31f4627c9e84f50','1d29e80b1759abf48c459aa4da3dae5c5de2f2a6b58faa9039c73f031e2fa79c');
CREATE TABLE ledger_measurements (
	release TEXT NOT NULL, 
	call TEXT NOT NULL, 
	request TEXT NOT NULL, 
	outcome BLOB NOT NULL, 
	account TEXT NOT NULL, 
	seq INTEGER NOT NULL, 
	PRIMARY KEY (release, call), 
	FOREIGN KEY(account, seq) REFERENCES ledger_entries (account, seq)
)
 WITHOUT ROWID

;
INSERT INTO "ledger_measurements" VALUES('dwellings','rooms','asked rooms',X'6E6F697365206F6620726F6F6D7300010203','homes',3);
INSERT INTO "ledger_measurements" VALUES('spring','ages','asked ages',X'6E6F697365206F66206167657300010203','people',3);
INSERT INTO "ledger_measurements" VALUES('spring','incomes','asked incomes',X'6E6F697365206F6620696E636F6D657300010203','people',4);
CREATE TABLE ledger_releases (
	release TEXT NOT NULL, 
	account TEXT NOT NULL, 
	PRIMARY KEY (release), 
	FOREIGN KEY(account) REFERENCES ledger_accounts (name)
);
INSERT INTO "ledger_releases" VALUES('spring','people');
INSERT INTO "ledger_releases" VALUES('summer','people');
INSERT INTO "ledger_releases" VALUES('autumn','people');
INSERT INTO "ledger_releases" VALUES('dwellings','homes');
CREATE TRIGGER ledger_entries_update BEFORE UPDATE ON ledger_entries BEGIN SELECT RAISE(ABORT, 'ledger_entries is append-only'); END;
CREATE TRIGGER ledger_entries_delete BEFORE DELETE ON ledger_entries BEGIN SELECT RAISE(ABORT, 'ledger_entries is append-only'); END;
CREATE TRIGGER ledger_entries_replace BEFORE INSERT ON ledger_entries WHEN EXISTS (SELECT 1 FROM ledger_entries WHERE account = NEW.account AND seq = NEW.seq) BEGIN SELECT RAISE(ABORT, 'ledger_entries is append-only'); END;
CREATE TRIGGER ledger_measurements_update BEFORE UPDATE ON ledger_measurements BEGIN SELECT RAISE(ABORT, 'ledger_measurements is append-only'); END;
CREATE TRIGGER ledger_measurements_delete BEFORE DELETE ON ledger_measurements BEGIN SELECT RAISE(ABORT, 'ledger_measurements is append-only'); END;
CREATE TRIGGER ledger_measurements_replace BEFORE INSERT ON ledger_measurements WHEN EXISTS (SELECT 1 FROM ledger_measurements WHERE release = NEW.release AND call = NEW.call) BEGIN SELECT RAISE(ABORT, 'ledger_measurements is append-only'); END;
COMMIT;
