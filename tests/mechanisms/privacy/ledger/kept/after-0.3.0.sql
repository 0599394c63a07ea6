-- A ledger of Hallmark after 0.3.0, written by its code of 2026-11-27 (commit a282052).
-- With a release that was entered again from what it published.
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
INSERT INTO "ledger_accounts" VALUES('people',15,'39c37b70036383c9364c6cbc981efa755d0cffeccf3a228e232dd3dc801f7ebe');
INSERT INTO "ledger_accounts" VALUES('homes',3,'7b1a3604183d38b424d8ee0f849a7480335cd2ee6b0af5f29ef727d8be203084');
INSERT INTO "ledger_accounts" VALUES('earlier',4,'99a527fdf322aa2955e9d369af4df0e635e44987c57ca11ffdbc2b79d577ad8f');
INSERT INTO "ledger_accounts" VALUES('series',5,'1291f5a4311b809e9407083d4ca847de3f039e3a3b76f1f74833b4edcc1fb319');
INSERT INTO "ledger_accounts" VALUES('in-rho',3,'d688ad9664d5a9bd704f00e21808861a2fe33b2af0f736abfc212ce001cf9abb');
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
INSERT INTO "ledger_entries" VALUES('earlier',1,'2026-11-27T14:41:29.502176+00:00','open',NULL,'{"by":"steward","cap":{"delta":"1/10000","epsilon":"2"},"composition":"sum","neighbours":"replace_one","person":null,"reason":"data board","records":1}','4ccea54e3bffbfab36d22cc0e8edcde33ff8f3feef3a77992a326646c3745197','3886ed0b3ae6d2310ffa17dfe65dc901ea3a97fa4db8546bdea9146b229b5dbc');
INSERT INTO "ledger_entries" VALUES('earlier',2,'2026-11-27T14:41:29.505945+00:00','reserve','sums','{"binding":"plan","budget":{"delta":"1/1000000","epsilon":"1/2"},"nonce":"e1aaeca5272601eec88ff236857fd848"}','3886ed0b3ae6d2310ffa17dfe65dc901ea3a97fa4db8546bdea9146b229b5dbc','0d66d79279e438b5e3ef58ee0af268d5cfe025abcc22c4a9e88b9fd785a9cf51');
INSERT INTO "ledger_entries" VALUES('earlier',3,'2026-11-27T14:41:29.510000+00:00','charge','sums','{"call":"ages","events":[{"event":"discrete_gaussian","l2_squared":2,"sigma2":"100","times":3,"unit_moves":2}],"nonce":"dfb62b2317cdc3f54e25cf811675cf45","outcome":"d426d15f249391664138535e7d0a76df953c0c262bf1e1df656c3d72ad0839e9","request":"asked ages"}','0d66d79279e438b5e3ef58ee0af268d5cfe025abcc22c4a9e88b9fd785a9cf51','b664ce8d8d0d952eed27eabd59b191cec94d20ee85e9db52b32e8c0a9cb8191b');
INSERT INTO "ledger_entries" VALUES('earlier',4,'2026-11-27T14:41:29.514360+00:00','composition',NULL,'{"by":"steward","composition":"zcdp","filter":{"conversion":"1080980001/1250000000","delta":"1/10000","order":"7896409/969704"},"reason":"data board"}','b664ce8d8d0d952eed27eabd59b191cec94d20ee85e9db52b32e8c0a9cb8191b','99a527fdf322aa2955e9d369af4df0e635e44987c57ca11ffdbc2b79d577ad8f');
INSERT INTO "ledger_entries" VALUES('homes',1,'2026-11-27T14:41:29.489024+00:00','open',NULL,'{"by":"steward","cap":{"delta":"0","epsilon":"1"},"composition":"sum","neighbours":"add_remove","person":"household","reason":"data board","records":4}','c7a9be665997d251580d068bb84658a58386ccbfda72a6643bd0ece1a4ce46d5','b6b952303e83a5ad146152be171880f762ef566574e3b64a2dbfb68d2c2c6bc6');
INSERT INTO "ledger_entries" VALUES('homes',2,'2026-11-27T14:41:29.493900+00:00','reserve','dwellings','{"binding":"plan of dwellings","budget":{"delta":"0","epsilon":"1/3"},"nonce":"0f19e71b255f6d90d54e7ce930a88849"}','b6b952303e83a5ad146152be171880f762ef566574e3b64a2dbfb68d2c2c6bc6','f42dbf32f9bf6a1f283179e6ebeb9bdde7558c5f3bcee7063490f502059ae5b8');
INSERT INTO "ledger_entries" VALUES('homes',3,'2026-11-27T14:41:29.498646+00:00','charge','dwellings','{"call":"rooms","events":[{"adaptive":true,"epsilon":"1/50","event":"exponential_mechanism","times":1}],"nonce":"26008ed91089e0f12604b0047e4e4f51","outcome":"d0cfaa89b82608362c9718daaf227238221447fb04f1b2d338544608fb403d27","request":"asked rooms"}','f42dbf32f9bf6a1f283179e6ebeb9bdde7558c5f3bcee7063490f502059ae5b8','7b1a3604183d38b424d8ee0f849a7480335cd2ee6b0af5f29ef727d8be203084');
INSERT INTO "ledger_entries" VALUES('in-rho',1,'2026-11-27T14:41:29.545467+00:00','open',NULL,'{"by":"steward","cap":{"delta":"1/100000","epsilon":"8620965290522663/4503599627370496","rho":"1/10"},"composition":"zcdp","neighbours":"replace_one","person":null,"reason":"data board","records":1}','06a4ba5e068b5dfcc2145827943cb4c097be14800ae0a7d0051c969add2fa3bd','279e5861a1ba46121ea997fdd018c15a4bf4e3d6e6eafb6110651d748ca967b9');
INSERT INTO "ledger_entries" VALUES('in-rho',2,'2026-11-27T14:41:29.549985+00:00','reserve','one','{"binding":"plan of one","budget":{"delta":"1/1000000","epsilon":"1/2"},"cost":{"pure":null,"rho":"1/30"},"nonce":"fe9ce54ee2c5e1a1c105a496fe36eea3"}','279e5861a1ba46121ea997fdd018c15a4bf4e3d6e6eafb6110651d748ca967b9','d8989ce387846814c5e1996292edc6521d8b64eb4f890338b0fce813f468228a');
INSERT INTO "ledger_entries" VALUES('in-rho',3,'2026-11-27T14:41:29.554244+00:00','charge','one','{"call":"ages of one","events":[{"event":"discrete_gaussian","l2_squared":2,"sigma2":"100","times":3,"unit_moves":2}],"nonce":"1af77252f9242d1626de9d53ada48339","outcome":"03f4d0aa7d633581498290da509ec12ab48ba8de6b5fc4bad9bb17fa7d164e90","request":"asked ages of one"}','d8989ce387846814c5e1996292edc6521d8b64eb4f890338b0fce813f468228a','d688ad9664d5a9bd704f00e21808861a2fe33b2af0f736abfc212ce001cf9abb');
INSERT INTO "ledger_entries" VALUES('people',1,'2026-11-27T14:41:29.419360+00:00','open',NULL,'{"by":"steward","cap":{"delta":"1/10000","epsilon":"2"},"composition":"sum","neighbours":"replace_one","person":null,"reason":"data board","records":1}','faefe38b080322d6ec8044fbb943a5aeceb8a52cad4ffaa47bc3fc969f8329e3','d2e55c66c3a651ea82436e96cbd819c9e967a7c9db6dae89949cab1622debd09');
INSERT INTO "ledger_entries" VALUES('people',2,'2026-11-27T14:41:29.427250+00:00','reserve','spring','{"allowance":{"budget":{"delta":"1/100000","epsilon":"1"},"name":"2026-11"},"binding":"plan of spring","budget":{"delta":"1/1000000","epsilon":"1/2"},"nonce":"b80913f167671fdb8843679e65aa3cbb"}','d2e55c66c3a651ea82436e96cbd819c9e967a7c9db6dae89949cab1622debd09','7dc0c5172d530f10bc652f635de9333fdc942a49572720133900141178656e65');
INSERT INTO "ledger_entries" VALUES('people',3,'2026-11-27T14:41:29.432907+00:00','charge','spring','{"call":"ages","events":[{"event":"discrete_laplace","l1":2,"scale":"7/2","times":1}],"nonce":"525355f809fbaa3fcc6c853c870e5816","outcome":"d426d15f249391664138535e7d0a76df953c0c262bf1e1df656c3d72ad0839e9","request":"asked ages"}','7dc0c5172d530f10bc652f635de9333fdc942a49572720133900141178656e65','7aea4d02e3eee6b4efdc3422beabf8774f40927c7980d21772b6ad09c079122c');
INSERT INTO "ledger_entries" VALUES('people',4,'2026-11-27T14:41:29.438444+00:00','charge','spring','{"call":"incomes","events":[{"event":"discrete_gaussian","l2_squared":2,"sigma2":"100","times":3,"unit_moves":2},{"adaptive":true,"epsilon":"1/50","event":"exponential_mechanism","times":1}],"nonce":"346ea247143f30c586b70d5bfb37c81f","outcome":"3b9f7973aa4cbf3e7158ff8584b5124a0d72c8b60f6cb728170c72c4b6faa45a","request":"asked incomes"}','7aea4d02e3eee6b4efdc3422beabf8774f40927c7980d21772b6ad09c079122c','08e4ab7c8bf6c296ef54dcc720963d7fe746a9ab35157e1b7e0e2cf2461c251c');
INSERT INTO "ledger_entries" VALUES('people',5,'2026-11-27T14:41:29.443474+00:00','request','spring','{"says":"request"}','08e4ab7c8bf6c296ef54dcc720963d7fe746a9ab35157e1b7e0e2cf2461c251c','40453cd6c8de361898ead45e87ee093b8b04f6d0a009d0da4e98f8cae9551f1c');
INSERT INTO "ledger_entries" VALUES('people',6,'2026-11-27T14:41:29.447673+00:00','decision','spring','{"says":"decision"}','40453cd6c8de361898ead45e87ee093b8b04f6d0a009d0da4e98f8cae9551f1c','3fa0b21396583ae2ad86a19612a29c3d39e30c5089fd72d2d195dd7c8a3fa730');
INSERT INTO "ledger_entries" VALUES('people',7,'2026-11-27T14:41:29.453679+00:00','override','spring','{"says":"override"}','3fa0b21396583ae2ad86a19612a29c3d39e30c5089fd72d2d195dd7c8a3fa730','fdad04e24367ce2104f0e9d4ef5735fa02654358d4b8ac228e124ce9909ddf7b');
INSERT INTO "ledger_entries" VALUES('people',8,'2026-11-27T14:41:29.458590+00:00','passage','spring','{"says":"passage"}','fdad04e24367ce2104f0e9d4ef5735fa02654358d4b8ac228e124ce9909ddf7b','7751f7457fef4efc68484c004f7b1caa97574ea72863e74ae7daf5e62e2bd203');
INSERT INTO "ledger_entries" VALUES('people',9,'2026-11-27T14:41:29.462956+00:00','publish','spring','{"nonce":"522e429d6e3234a049b2e60c2a6718ad","says":"publish"}','7751f7457fef4efc68484c004f7b1caa97574ea72863e74ae7daf5e62e2bd203','72a2d6b093192da90692c65f49846a58c41bdb5c189196c3f932755a7c532c47');
INSERT INTO "ledger_entries" VALUES('people',10,'2026-11-27T14:41:29.468758+00:00','reserve','summer','{"binding":"plan of summer","budget":{"delta":"0","epsilon":"1/4"},"nonce":"440e1d125230f8a99d751b59787d76b6"}','72a2d6b093192da90692c65f49846a58c41bdb5c189196c3f932755a7c532c47','ea597d9787624ffc01ccbc0cf457ed4554790e0d920e08d32102e8d575245c1b');
INSERT INTO "ledger_entries" VALUES('people',11,'2026-11-27T14:41:29.474484+00:00','reserve','autumn','{"binding":"plan of autumn","budget":{"delta":"0","epsilon":"1/8"},"nonce":"4fcbe34bae90ea9f1a8413f015a69d17"}','ea597d9787624ffc01ccbc0cf457ed4554790e0d920e08d32102e8d575245c1b','8b798cd84a6f23a6987d108586838eceeca5d746459cf687b018908253c7b3a7');
INSERT INTO "ledger_entries" VALUES('people',12,'2026-11-27T14:41:29.479801+00:00','cancel','autumn','{"by":"steward","reason":"data board"}','8b798cd84a6f23a6987d108586838eceeca5d746459cf687b018908253c7b3a7','e2f5f96454688253b162785d69a580ae1b4b85c29e2886c13547ada7473b0f3d');
INSERT INTO "ledger_entries" VALUES('people',13,'2026-11-27T14:41:29.484800+00:00','cap',NULL,'{"by":"steward","cap":{"delta":"1/10000","epsilon":"3"},"reason":"data board"}','e2f5f96454688253b162785d69a580ae1b4b85c29e2886c13547ada7473b0f3d','d1fec72abf8cb29644e01405d8678c1d5f5893269b6a1d376e44e07665430e85');
INSERT INTO "ledger_entries" VALUES('people',14,'2026-11-27T14:41:29.519519+00:00','composition',NULL,'{"by":"steward","composition":"zcdp","reason":"data board"}','d1fec72abf8cb29644e01405d8678c1d5f5893269b6a1d376e44e07665430e85','80336eb1422d4f6840258e6fd00b1a8aa471f234521ff530ec5465dd8c86565b');
INSERT INTO "ledger_entries" VALUES('people',15,'2026-11-27T14:41:29.559605+00:00','proved','lost','{"budget":{"delta":"1/1000000","epsilon":"1/8"},"by":"steward","events":[{"event":"discrete_gaussian","l2_squared":2,"sigma2":"100","times":3,"unit_moves":2}],"filter":{"conversion":"2419192209/2500000000","delta":"99/1000000","order":"1749094/233621"},"manifest":"a digest","reason":"data board"}','80336eb1422d4f6840258e6fd00b1a8aa471f234521ff530ec5465dd8c86565b','39c37b70036383c9364c6cbc981efa755d0cffeccf3a228e232dd3dc801f7ebe');
INSERT INTO "ledger_entries" VALUES('series',1,'2026-11-27T14:41:29.522602+00:00','open',NULL,'{"by":"steward","cap":{"delta":"1/100000","epsilon":"2"},"composition":"zcdp","neighbours":"replace_one","person":null,"reason":"data board","records":1}','2916e837b85acec6cb8b5e24f451d75bf933a698c9dd19dde2263c6bed2d87d8','8444d472fe696c482065955cd0620dc7733187fa2a1ba8089699ada560f3ee9f');
INSERT INTO "ledger_entries" VALUES('series',2,'2026-11-27T14:41:29.528195+00:00','reserve','january','{"binding":"plan of january","budget":{"delta":"1/1000000","epsilon":"1/2"},"cost":{"pure":null,"rho":"1/30"},"filter":{"conversion":"1117937781/1250000000","delta":"1/100000","order":"8751707/856897"},"nonce":"b4429842828ee69600f85371f5b48028"}','8444d472fe696c482065955cd0620dc7733187fa2a1ba8089699ada560f3ee9f','35f8599d329f9382b63e865055931940f329b014604f154a5c5461400bf12600');
INSERT INTO "ledger_entries" VALUES('series',3,'2026-11-27T14:41:29.533104+00:00','reserve','february','{"binding":"plan of february","budget":{"delta":"1/1000000","epsilon":"1/2"},"cost":{"pure":null,"rho":"1/30"},"nonce":"6f954808618353d76f8563bbfc15ac19"}','35f8599d329f9382b63e865055931940f329b014604f154a5c5461400bf12600','b31108511396885529fba0c364ab2a3e3bddad9af9f223d26793cacea61258af');
INSERT INTO "ledger_entries" VALUES('series',4,'2026-11-27T14:41:29.537344+00:00','charge','january','{"call":"ages of january","events":[{"event":"discrete_gaussian","l2_squared":2,"sigma2":"100","times":3,"unit_moves":2}],"nonce":"d6813c1bed39f5564f56b8bbc1275694","outcome":"37e3af4e6444ce83470c4404335a140b1b362f87a9eaefc58e01421a6644d73e","request":"asked ages of january"}','b31108511396885529fba0c364ab2a3e3bddad9af9f223d26793cacea61258af','261c4620631e6ad7e3fa296051aa958af422890cfb86f5bffafb83b5a751359c');
INSERT INTO "ledger_entries" VALUES('series',5,'2026-11-27T14:41:29.541581+00:00','cap',NULL,'{"by":"steward","cap":{"delta":"1/100000","epsilon":"3"},"filter":{"conversion":"1117937781/1250000000","delta":"1/100000","order":"8751707/856897"},"reason":"data board"}','261c4620631e6ad7e3fa296051aa958af422890cfb86f5bffafb83b5a751359c','1291f5a4311b809e9407083d4ca847de3f039e3a3b76f1f74833b4edcc1fb319');
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
INSERT INTO "ledger_measurements" VALUES('january','ages of january','asked ages of january',X'6E6F697365206F662061676573206F66206A616E7561727900010203','series',4);
INSERT INTO "ledger_measurements" VALUES('one','ages of one','asked ages of one',X'6E6F697365206F662061676573206F66206F6E6500010203','in-rho',3);
INSERT INTO "ledger_measurements" VALUES('spring','ages','asked ages',X'6E6F697365206F66206167657300010203','people',3);
INSERT INTO "ledger_measurements" VALUES('spring','incomes','asked incomes',X'6E6F697365206F6620696E636F6D657300010203','people',4);
INSERT INTO "ledger_measurements" VALUES('sums','ages','asked ages',X'6E6F697365206F66206167657300010203','earlier',3);
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
INSERT INTO "ledger_releases" VALUES('sums','earlier');
INSERT INTO "ledger_releases" VALUES('january','series');
INSERT INTO "ledger_releases" VALUES('february','series');
INSERT INTO "ledger_releases" VALUES('one','in-rho');
INSERT INTO "ledger_releases" VALUES('lost','people');
CREATE TRIGGER ledger_entries_update BEFORE UPDATE ON ledger_entries BEGIN SELECT RAISE(ABORT, 'ledger_entries is append-only'); END;
CREATE TRIGGER ledger_entries_delete BEFORE DELETE ON ledger_entries BEGIN SELECT RAISE(ABORT, 'ledger_entries is append-only'); END;
CREATE TRIGGER ledger_entries_replace BEFORE INSERT ON ledger_entries WHEN EXISTS (SELECT 1 FROM ledger_entries WHERE account = NEW.account AND seq = NEW.seq) BEGIN SELECT RAISE(ABORT, 'ledger_entries is append-only'); END;
CREATE TRIGGER ledger_measurements_update BEFORE UPDATE ON ledger_measurements BEGIN SELECT RAISE(ABORT, 'ledger_measurements is append-only'); END;
CREATE TRIGGER ledger_measurements_delete BEFORE DELETE ON ledger_measurements BEGIN SELECT RAISE(ABORT, 'ledger_measurements is append-only'); END;
CREATE TRIGGER ledger_measurements_replace BEFORE INSERT ON ledger_measurements WHEN EXISTS (SELECT 1 FROM ledger_measurements WHERE release = NEW.release AND call = NEW.call) BEGIN SELECT RAISE(ABORT, 'ledger_measurements is append-only'); END;
COMMIT;
