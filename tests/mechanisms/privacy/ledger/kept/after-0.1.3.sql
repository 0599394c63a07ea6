-- A ledger of Hallmark after 0.1.3, written by its code of 2026-11-24 (commit 848a872).
-- With nonces, and with entries that a release is about to be published.
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
INSERT INTO "ledger_accounts" VALUES('people',12,'469e5be7f51d1d493406dfde6e2246e5887a3783e4a129055184cd98b682a98e');
INSERT INTO "ledger_accounts" VALUES('homes',3,'c611b451bfb3b7025090da137b7e4f76e2ddec97563a837f8cdd9014530ff832');
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
INSERT INTO "ledger_entries" VALUES('homes',1,'2026-11-27T14:39:12.228831+00:00','open',NULL,'{"by":"steward","cap":{"delta":"0","epsilon":"1"},"neighbours":"add_remove","person":"household","reason":"data board","records":4}','c7a9be665997d251580d068bb84658a58386ccbfda72a6643bd0ece1a4ce46d5','12f05b7b1740ccb108131a9da2f2e6c80dd76408a90fcdab4bd01f4643171193');
INSERT INTO "ledger_entries" VALUES('homes',2,'2026-11-27T14:39:12.232876+00:00','reserve','dwellings','{"binding":"plan of dwellings","budget":{"delta":"0","epsilon":"1/3"},"nonce":"8d2bd614a95aac84c99d01af583b352b"}','12f05b7b1740ccb108131a9da2f2e6c80dd76408a90fcdab4bd01f4643171193','5a5a344beffd52f4352f501cedd556c51adbe32a2ef6eab8cfc4a3f33841a2fc');
INSERT INTO "ledger_entries" VALUES('homes',3,'2026-11-27T14:39:12.237168+00:00','charge','dwellings','{"call":"rooms","events":[{"adaptive":true,"epsilon":"1/50","event":"exponential_mechanism","times":1}],"nonce":"eb9cc289aeffb2faa0d2c674df4a50a1","outcome":"d0cfaa89b82608362c9718daaf227238221447fb04f1b2d338544608fb403d27","request":"asked rooms"}','5a5a344beffd52f4352f501cedd556c51adbe32a2ef6eab8cfc4a3f33841a2fc','c611b451bfb3b7025090da137b7e4f76e2ddec97563a837f8cdd9014530ff832');
INSERT INTO "ledger_entries" VALUES('people',1,'2026-11-27T14:39:12.164694+00:00','open',NULL,'{"by":"steward","cap":{"delta":"1/10000","epsilon":"2"},"neighbours":"replace_one","person":null,"reason":"data board","records":1}','faefe38b080322d6ec8044fbb943a5aeceb8a52cad4ffaa47bc3fc969f8329e3','565627f726a2f0792da07c1880ba2a96e9d572891dde370a501dfce842e831b6');
INSERT INTO "ledger_entries" VALUES('people',2,'2026-11-27T14:39:12.172910+00:00','reserve','spring','{"allowance":{"budget":{"delta":"1/100000","epsilon":"1"},"name":"2026-11"},"binding":"plan of spring","budget":{"delta":"1/1000000","epsilon":"1/2"},"nonce":"59b4df65a22e6e1bfd2a94ac31325e84"}','565627f726a2f0792da07c1880ba2a96e9d572891dde370a501dfce842e831b6','17ef31a1b29679a31dfeb99ae24e3a99c092b813a0341eef53596e0370a80e8f');
INSERT INTO "ledger_entries" VALUES('people',3,'2026-11-27T14:39:12.178972+00:00','charge','spring','{"call":"ages","events":[{"event":"discrete_laplace","l1":2,"scale":"7/2","times":1}],"nonce":"31efe76cb31dd231fcf947bf267bc301","outcome":"d426d15f249391664138535e7d0a76df953c0c262bf1e1df656c3d72ad0839e9","request":"asked ages"}','17ef31a1b29679a31dfeb99ae24e3a99c092b813a0341eef53596e0370a80e8f','ed902c423b04b2e8ba2b7b7e5dc15271d203fe0abf8b01355f9ae310073de1b3');
INSERT INTO "ledger_entries" VALUES('people',4,'2026-11-27T14:39:12.185011+00:00','charge','spring','{"call":"incomes","events":[{"event":"discrete_gaussian","l2_squared":2,"sigma2":"100","times":3,"unit_moves":2},{"adaptive":true,"epsilon":"1/50","event":"exponential_mechanism","times":1}],"nonce":"731c89ad2f9136979d4e2f6333df5ee1","outcome":"3b9f7973aa4cbf3e7158ff8584b5124a0d72c8b60f6cb728170c72c4b6faa45a","request":"asked incomes"}','ed902c423b04b2e8ba2b7b7e5dc15271d203fe0abf8b01355f9ae310073de1b3','ec229d1e10c8cf348dadb16c30aec1b95f79855883ca254a902b9a096e4fefd4');
INSERT INTO "ledger_entries" VALUES('people',5,'2026-11-27T14:39:12.190175+00:00','request','spring','{"says":"request"}','ec229d1e10c8cf348dadb16c30aec1b95f79855883ca254a902b9a096e4fefd4','7ed8d426ec3ba93d431f29cd64125687de3912a79d7dcb5653de06739308e3f3');
INSERT INTO "ledger_entries" VALUES('people',6,'2026-11-27T14:39:12.194897+00:00','decision','spring','{"says":"decision"}','7ed8d426ec3ba93d431f29cd64125687de3912a79d7dcb5653de06739308e3f3','9c6021e61bea8f63c6eb155948aa59a837fc29cfeef4c77a4bc41a352d1e4c02');
INSERT INTO "ledger_entries" VALUES('people',7,'2026-11-27T14:39:12.200235+00:00','override','spring','{"says":"override"}','9c6021e61bea8f63c6eb155948aa59a837fc29cfeef4c77a4bc41a352d1e4c02','235e802d6e7263e769dc24610799e81e1da57454d259bca68318c315fcb0b358');
INSERT INTO "ledger_entries" VALUES('people',8,'2026-11-27T14:39:12.205285+00:00','publish','spring','{"nonce":"a07ee276c6eb2f852663f97ebf648003","says":"publish"}','235e802d6e7263e769dc24610799e81e1da57454d259bca68318c315fcb0b358','ecb5a7db702f32abf572dcd36684af599b911e770b665cd2959f3b239051ccec');
INSERT INTO "ledger_entries" VALUES('people',9,'2026-11-27T14:39:12.210274+00:00','reserve','summer','{"binding":"plan of summer","budget":{"delta":"0","epsilon":"1/4"},"nonce":"01df1b7a338fc788eee1147b833d22fd"}','ecb5a7db702f32abf572dcd36684af599b911e770b665cd2959f3b239051ccec','61ed44056f829e002e15d48f71a8b8f448351e8b6239521fdee429a3a638a90f');
INSERT INTO "ledger_entries" VALUES('people',10,'2026-11-27T14:39:12.215669+00:00','reserve','autumn','{"binding":"plan of autumn","budget":{"delta":"0","epsilon":"1/8"},"nonce":"2685314c5f8dad5718f196c786d9c961"}','61ed44056f829e002e15d48f71a8b8f448351e8b6239521fdee429a3a638a90f','6f13a07b02712dc45c20cfd2ec6e66752493d1130753c83799ab2fe83f390fe2');
INSERT INTO "ledger_entries" VALUES('people',11,'2026-11-27T14:39:12.221234+00:00','cancel','autumn','{"by":"steward","reason":"data board"}','6f13a07b02712dc45c20cfd2ec6e66752493d1130753c83799ab2fe83f390fe2','7548dbab3173f19ecbffe3df951d9b0376865a79c48d7452b71a61305b76b8b9');
INSERT INTO "ledger_entries" VALUES('people',12,'2026-11-27T14:39:12.225496+00:00','cap',NULL,'{"by":"steward","cap":{"delta":"1/10000","epsilon":"3"},"reason":"data board"}','7548dbab3173f19ecbffe3df951d9b0376865a79c48d7452b71a61305b76b8b9','469e5be7f51d1d493406dfde6e2246e5887a3783e4a129055184cd98b682a98e');
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
