-- A ledger of Hallmark 0.1.1, written by its code of 2026-11-21 (commit afc9e11).
-- With allowances, requests, decisions and overrides, and choices that are adaptive.
-- Versions 0.1.2 and 0.1.3 wrote the same.
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
INSERT INTO "ledger_accounts" VALUES('people',11,'2a9bc87e167c5556da6fa43e89d1c22740c4691038397caa5d31c5498394785d');
INSERT INTO "ledger_accounts" VALUES('homes',3,'4d92ad4a95ef7d126368370907bcc524df7dd1053d9936bc6baa1cf31c0a2c8e');
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
INSERT INTO "ledger_entries" VALUES('homes',1,'2026-11-27T14:39:11.592478+00:00','open',NULL,'{"by":"steward","cap":{"delta":"0","epsilon":"1"},"neighbours":"add_remove","person":"household","reason":"data board","records":4}','c7a9be665997d251580d068bb84658a58386ccbfda72a6643bd0ece1a4ce46d5','ef00b2c7e0f2879191d53775760def801cfb2e45e0266a4023a071106f7ef55e');
INSERT INTO "ledger_entries" VALUES('homes',2,'2026-11-27T14:39:11.596405+00:00','reserve','dwellings','{"binding":"plan of dwellings","budget":{"delta":"0","epsilon":"1/3"}}','ef00b2c7e0f2879191d53775760def801cfb2e45e0266a4023a071106f7ef55e','4ad974fa057d6435090efb3f07e5784dda5681efae90997369bdd613e4ec45c3');
INSERT INTO "ledger_entries" VALUES('homes',3,'2026-11-27T14:39:11.601016+00:00','charge','dwellings','{"call":"rooms","events":[{"adaptive":true,"epsilon":"1/50","event":"exponential_mechanism","times":1}],"outcome":"d0cfaa89b82608362c9718daaf227238221447fb04f1b2d338544608fb403d27","request":"asked rooms"}','4ad974fa057d6435090efb3f07e5784dda5681efae90997369bdd613e4ec45c3','4d92ad4a95ef7d126368370907bcc524df7dd1053d9936bc6baa1cf31c0a2c8e');
INSERT INTO "ledger_entries" VALUES('people',1,'2026-11-27T14:39:11.539216+00:00','open',NULL,'{"by":"steward","cap":{"delta":"1/10000","epsilon":"2"},"neighbours":"replace_one","person":null,"reason":"data board","records":1}','faefe38b080322d6ec8044fbb943a5aeceb8a52cad4ffaa47bc3fc969f8329e3','0ac98c0d2667d9b1da6ea3c12133b1b799cf7a2fe0997dd9f794cc928dc90f85');
INSERT INTO "ledger_entries" VALUES('people',2,'2026-11-27T14:39:11.546780+00:00','reserve','spring','{"allowance":{"budget":{"delta":"1/100000","epsilon":"1"},"name":"2026-11"},"binding":"plan of spring","budget":{"delta":"1/1000000","epsilon":"1/2"}}','0ac98c0d2667d9b1da6ea3c12133b1b799cf7a2fe0997dd9f794cc928dc90f85','ef9e180dad599b1959065a14912e127c5c00b03074e90c484fda75ae791b52ed');
INSERT INTO "ledger_entries" VALUES('people',3,'2026-11-27T14:39:11.552257+00:00','charge','spring','{"call":"ages","events":[{"event":"discrete_laplace","l1":2,"scale":"7/2","times":1}],"outcome":"d426d15f249391664138535e7d0a76df953c0c262bf1e1df656c3d72ad0839e9","request":"asked ages"}','ef9e180dad599b1959065a14912e127c5c00b03074e90c484fda75ae791b52ed','a62d527ba33df1f18b72ab74109aefa1e1bec7320ccbf97cfdbf968b1c1f3378');
INSERT INTO "ledger_entries" VALUES('people',4,'2026-11-27T14:39:11.557849+00:00','charge','spring','{"call":"incomes","events":[{"event":"discrete_gaussian","l2_squared":2,"sigma2":"100","times":3,"unit_moves":2},{"adaptive":true,"epsilon":"1/50","event":"exponential_mechanism","times":1}],"outcome":"3b9f7973aa4cbf3e7158ff8584b5124a0d72c8b60f6cb728170c72c4b6faa45a","request":"asked incomes"}','a62d527ba33df1f18b72ab74109aefa1e1bec7320ccbf97cfdbf968b1c1f3378','673f13b546e1fddc5bfb604e4ef240d85258efca4a69f06ab8c873d1a6c56a50');
INSERT INTO "ledger_entries" VALUES('people',5,'2026-11-27T14:39:11.562521+00:00','request','spring','{"says":"request"}','673f13b546e1fddc5bfb604e4ef240d85258efca4a69f06ab8c873d1a6c56a50','0a3d4b30b6021939c72d4f5c1dc108907565df224aec18ed4739d28c73158fd8');
INSERT INTO "ledger_entries" VALUES('people',6,'2026-11-27T14:39:11.566754+00:00','decision','spring','{"says":"decision"}','0a3d4b30b6021939c72d4f5c1dc108907565df224aec18ed4739d28c73158fd8','28dd7efc589b52374a65e6de23f1f4df87f0ca77c760fc7d918ae01f659b2688');
INSERT INTO "ledger_entries" VALUES('people',7,'2026-11-27T14:39:11.570890+00:00','override','spring','{"says":"override"}','28dd7efc589b52374a65e6de23f1f4df87f0ca77c760fc7d918ae01f659b2688','d7a765d1403fb099a130f6bfe6368e05a2da87cbd60eeb873ca6cc824b0f3c07');
INSERT INTO "ledger_entries" VALUES('people',8,'2026-11-27T14:39:11.575334+00:00','reserve','summer','{"binding":"plan of summer","budget":{"delta":"0","epsilon":"1/4"}}','d7a765d1403fb099a130f6bfe6368e05a2da87cbd60eeb873ca6cc824b0f3c07','46bc4a9d0b9b13dd5c39a544d3cdbbfd51427f6a9853d8c99dcd5f2931328f25');
INSERT INTO "ledger_entries" VALUES('people',9,'2026-11-27T14:39:11.580417+00:00','reserve','autumn','{"binding":"plan of autumn","budget":{"delta":"0","epsilon":"1/8"}}','46bc4a9d0b9b13dd5c39a544d3cdbbfd51427f6a9853d8c99dcd5f2931328f25','60c91e75b6599c71d231c6a532e51502f7220cbc83cb5cb320335c7277cd8521');
INSERT INTO "ledger_entries" VALUES('people',10,'2026-11-27T14:39:11.584933+00:00','cancel','autumn','{"by":"steward","reason":"data board"}','60c91e75b6599c71d231c6a532e51502f7220cbc83cb5cb320335c7277cd8521','52933c12611b24e3aa711f3f185e86f5757289ad2fdce7c274e28060084be987');
INSERT INTO "ledger_entries" VALUES('people',11,'2026-11-27T14:39:11.589308+00:00','cap',NULL,'{"by":"steward","cap":{"delta":"1/10000","epsilon":"3"},"reason":"data board"}','52933c12611b24e3aa711f3f185e86f5757289ad2fdce7c274e28060084be987','2a9bc87e167c5556da6fa43e89d1c22740c4691038397caa5d31c5498394785d');
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
