-- A ledger of Hallmark before 0.1.0, written by its code of 2026-11-21 (commit 3f7f107).
-- Accounts do not say which person their unit is, so they are refused.
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
INSERT INTO "ledger_accounts" VALUES('people',8,'c04aa613f391e24f4c93df40b8a72710d1e84a0f830985c1f30bd7a64186cfc2');
INSERT INTO "ledger_accounts" VALUES('homes',3,'fe4183c44a2586ea433e209e5e8ec230a6554b00f387a597eef3c1a4a8a2e270');
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
INSERT INTO "ledger_entries" VALUES('homes',1,'2026-11-27T14:39:10.130510+00:00','open',NULL,'{"by":"steward","cap":{"delta":"0","epsilon":"1"},"neighbours":"add_remove","reason":"data board","records":4}','c7a9be665997d251580d068bb84658a58386ccbfda72a6643bd0ece1a4ce46d5','1f5f9d566b659bc4510f5fe1b526376374f9b7914f70b52b27759baa7b8f35c7');
INSERT INTO "ledger_entries" VALUES('homes',2,'2026-11-27T14:39:10.139469+00:00','reserve','dwellings','{"binding":"plan of dwellings","budget":{"delta":"0","epsilon":"1/3"}}','1f5f9d566b659bc4510f5fe1b526376374f9b7914f70b52b27759baa7b8f35c7','f5d0a442ab4a397d1c342e59a0faed90311e6b7c4b145ab2eb37ef4776ee0e70');
INSERT INTO "ledger_entries" VALUES('homes',3,'2026-11-27T14:39:10.145666+00:00','charge','dwellings','{"call":"rooms","events":[{"epsilon":"1/50","event":"exponential_mechanism","times":1}],"outcome":"d0cfaa89b82608362c9718daaf227238221447fb04f1b2d338544608fb403d27","request":"asked rooms"}','f5d0a442ab4a397d1c342e59a0faed90311e6b7c4b145ab2eb37ef4776ee0e70','fe4183c44a2586ea433e209e5e8ec230a6554b00f387a597eef3c1a4a8a2e270');
INSERT INTO "ledger_entries" VALUES('people',1,'2026-11-27T14:39:10.078900+00:00','open',NULL,'{"by":"steward","cap":{"delta":"1/10000","epsilon":"2"},"neighbours":"replace_one","reason":"data board","records":1}','faefe38b080322d6ec8044fbb943a5aeceb8a52cad4ffaa47bc3fc969f8329e3','dd71a5102380d52f6dc68f2417d6a760915ed859761eb0ee9104e3f9c7715b67');
INSERT INTO "ledger_entries" VALUES('people',2,'2026-11-27T14:39:10.091030+00:00','reserve','spring','{"binding":"plan of spring","budget":{"delta":"1/1000000","epsilon":"1/2"}}','dd71a5102380d52f6dc68f2417d6a760915ed859761eb0ee9104e3f9c7715b67','16cef58216f3a3326e45338a4a53c7cd9c762750a2bb4b902f1ea8d0aa12482b');
INSERT INTO "ledger_entries" VALUES('people',3,'2026-11-27T14:39:10.097406+00:00','charge','spring','{"call":"ages","events":[{"event":"discrete_laplace","l1":2,"scale":"7/2","times":1}],"outcome":"d426d15f249391664138535e7d0a76df953c0c262bf1e1df656c3d72ad0839e9","request":"asked ages"}','16cef58216f3a3326e45338a4a53c7cd9c762750a2bb4b902f1ea8d0aa12482b','10327277a7246521fc307e3d12dd4d4602671f2b3b51fec8226cbb831b98a659');
INSERT INTO "ledger_entries" VALUES('people',4,'2026-11-27T14:39:10.102723+00:00','charge','spring','{"call":"incomes","events":[{"event":"discrete_gaussian","l2_squared":2,"sigma2":"100","times":3,"unit_moves":2},{"epsilon":"1/50","event":"exponential_mechanism","times":1}],"outcome":"3b9f7973aa4cbf3e7158ff8584b5124a0d72c8b60f6cb728170c72c4b6faa45a","request":"asked incomes"}','10327277a7246521fc307e3d12dd4d4602671f2b3b51fec8226cbb831b98a659','e5ca40386aa74318805d29d2469837b722ebcd9d89120481fdcee4c9e47f2ce5');
INSERT INTO "ledger_entries" VALUES('people',5,'2026-11-27T14:39:10.107782+00:00','reserve','summer','{"binding":"plan of summer","budget":{"delta":"0","epsilon":"1/4"}}','e5ca40386aa74318805d29d2469837b722ebcd9d89120481fdcee4c9e47f2ce5','ba6e0989683b8c916468c21dc98a2347a88ac2ce7e7a561d71fad8d5d7b340ae');
INSERT INTO "ledger_entries" VALUES('people',6,'2026-11-27T14:39:10.112988+00:00','reserve','autumn','{"binding":"plan of autumn","budget":{"delta":"0","epsilon":"1/8"}}','ba6e0989683b8c916468c21dc98a2347a88ac2ce7e7a561d71fad8d5d7b340ae','749a175f7d5e783ddc39d28d00987099d9dc70986491d244fa687bdd99ad6290');
INSERT INTO "ledger_entries" VALUES('people',7,'2026-11-27T14:39:10.118113+00:00','cancel','autumn','{"by":"steward","reason":"data board"}','749a175f7d5e783ddc39d28d00987099d9dc70986491d244fa687bdd99ad6290','8db826fd7c1d26a099f14964462c239d0f93dc902804defdad5c5fe21c23d53c');
INSERT INTO "ledger_entries" VALUES('people',8,'2026-11-27T14:39:10.124937+00:00','cap',NULL,'{"by":"steward","cap":{"delta":"1/10000","epsilon":"3"},"reason":"data board"}','8db826fd7c1d26a099f14964462c239d0f93dc902804defdad5c5fe21c23d53c','c04aa613f391e24f4c93df40b8a72710d1e84a0f830985c1f30bd7a64186cfc2');
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
