-- A ledger of Hallmark 0.1.4, written by its code of 2026-11-25 (commit 46b2735).
-- With passages, compositions, costs, filters and caps in rho.
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
INSERT INTO "ledger_accounts" VALUES('people',14,'120bf5b3412028637cf52edc392053fd549faa1aa9079134bc52e2a0ebcc4170');
INSERT INTO "ledger_accounts" VALUES('homes',3,'5f136bed6e536147aa91314308204b6587818a450d84ff1fd01918e7aef1e420');
INSERT INTO "ledger_accounts" VALUES('earlier',4,'4a977c5e68fe0d7784fe863cba7239c192c1c0735dd455f14c7bb7c737d35f28');
INSERT INTO "ledger_accounts" VALUES('series',5,'c7d92cc1aaee6c3cf91e2f2ebd4bc3a46890d0c4012e1efccd159d1e1a5a6ac1');
INSERT INTO "ledger_accounts" VALUES('in-rho',3,'8d5e192a7fdac2f01ad850075a0d1cae26a398f28bb44b117dfc294e42899805');
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
INSERT INTO "ledger_entries" VALUES('earlier',1,'2026-11-27T14:39:12.905759+00:00','open',NULL,'{"by":"steward","cap":{"delta":"1/10000","epsilon":"2"},"composition":"sum","neighbours":"replace_one","person":null,"reason":"data board","records":1}','4ccea54e3bffbfab36d22cc0e8edcde33ff8f3feef3a77992a326646c3745197','7cc70d9302c449f061495577ecef6d1b8dbed43e2f92c498d8c0b345aba1d878');
INSERT INTO "ledger_entries" VALUES('earlier',2,'2026-11-27T14:39:12.910131+00:00','reserve','sums','{"binding":"plan","budget":{"delta":"1/1000000","epsilon":"1/2"},"nonce":"8069335448d516bc6cdf185e6beff52b"}','7cc70d9302c449f061495577ecef6d1b8dbed43e2f92c498d8c0b345aba1d878','e28ffb5135eb98f86be560837647bf9e485382f092abba7e6c4cc0fa4c187ead');
INSERT INTO "ledger_entries" VALUES('earlier',3,'2026-11-27T14:39:12.914318+00:00','charge','sums','{"call":"ages","events":[{"event":"discrete_gaussian","l2_squared":2,"sigma2":"100","times":3,"unit_moves":2}],"nonce":"19828670d796fa0cfa1c3ff119078757","outcome":"d426d15f249391664138535e7d0a76df953c0c262bf1e1df656c3d72ad0839e9","request":"asked ages"}','e28ffb5135eb98f86be560837647bf9e485382f092abba7e6c4cc0fa4c187ead','224acf90818704cdb3759841d512e47e4cb2e4737f4100e8b32343744e2e7d62');
INSERT INTO "ledger_entries" VALUES('earlier',4,'2026-11-27T14:39:12.918864+00:00','composition',NULL,'{"by":"steward","composition":"zcdp","filter":{"conversion":"1080980001/1250000000","delta":"1/10000","order":"7896409/969704"},"reason":"data board"}','224acf90818704cdb3759841d512e47e4cb2e4737f4100e8b32343744e2e7d62','4a977c5e68fe0d7784fe863cba7239c192c1c0735dd455f14c7bb7c737d35f28');
INSERT INTO "ledger_entries" VALUES('homes',1,'2026-11-27T14:39:12.892917+00:00','open',NULL,'{"by":"steward","cap":{"delta":"0","epsilon":"1"},"composition":"sum","neighbours":"add_remove","person":"household","reason":"data board","records":4}','c7a9be665997d251580d068bb84658a58386ccbfda72a6643bd0ece1a4ce46d5','fa8dd8452632db4a90d32f121d193acfcc398d0b3ca1321c3483a4c7ba2bab32');
INSERT INTO "ledger_entries" VALUES('homes',2,'2026-11-27T14:39:12.897101+00:00','reserve','dwellings','{"binding":"plan of dwellings","budget":{"delta":"0","epsilon":"1/3"},"nonce":"96c3e37277067cf3397b6d3d7f84f5f4"}','fa8dd8452632db4a90d32f121d193acfcc398d0b3ca1321c3483a4c7ba2bab32','bbbf0fb197c526f550267d31bef468188e4a307ef45d18f07cbaa0e8b1ac5854');
INSERT INTO "ledger_entries" VALUES('homes',3,'2026-11-27T14:39:12.901862+00:00','charge','dwellings','{"call":"rooms","events":[{"adaptive":true,"epsilon":"1/50","event":"exponential_mechanism","times":1}],"nonce":"2e2be10bbdeb576b8868d2ca1f29e52f","outcome":"d0cfaa89b82608362c9718daaf227238221447fb04f1b2d338544608fb403d27","request":"asked rooms"}','bbbf0fb197c526f550267d31bef468188e4a307ef45d18f07cbaa0e8b1ac5854','5f136bed6e536147aa91314308204b6587818a450d84ff1fd01918e7aef1e420');
INSERT INTO "ledger_entries" VALUES('in-rho',1,'2026-11-27T14:39:12.951177+00:00','open',NULL,'{"by":"steward","cap":{"delta":"1/100000","epsilon":"8620965290522663/4503599627370496","rho":"1/10"},"composition":"zcdp","neighbours":"replace_one","person":null,"reason":"data board","records":1}','06a4ba5e068b5dfcc2145827943cb4c097be14800ae0a7d0051c969add2fa3bd','fbca038d2313f4bf3029bcecdcb7ebdaa82285f9f941f313e0364d57c8980512');
INSERT INTO "ledger_entries" VALUES('in-rho',2,'2026-11-27T14:39:12.955942+00:00','reserve','one','{"binding":"plan of one","budget":{"delta":"1/1000000","epsilon":"1/2"},"cost":{"pure":null,"rho":"1/30"},"nonce":"c1b6e3385f33232bd32b3890e81efe17"}','fbca038d2313f4bf3029bcecdcb7ebdaa82285f9f941f313e0364d57c8980512','cc51d2e581b404a4dd152939395e6d176262649b57586ad0c1b0ba00505ea10d');
INSERT INTO "ledger_entries" VALUES('in-rho',3,'2026-11-27T14:39:12.960626+00:00','charge','one','{"call":"ages of one","events":[{"event":"discrete_gaussian","l2_squared":2,"sigma2":"100","times":3,"unit_moves":2}],"nonce":"4729e76626f767459ca5d6f6cb011d78","outcome":"03f4d0aa7d633581498290da509ec12ab48ba8de6b5fc4bad9bb17fa7d164e90","request":"asked ages of one"}','cc51d2e581b404a4dd152939395e6d176262649b57586ad0c1b0ba00505ea10d','8d5e192a7fdac2f01ad850075a0d1cae26a398f28bb44b117dfc294e42899805');
INSERT INTO "ledger_entries" VALUES('people',1,'2026-11-27T14:39:12.816760+00:00','open',NULL,'{"by":"steward","cap":{"delta":"1/10000","epsilon":"2"},"composition":"sum","neighbours":"replace_one","person":null,"reason":"data board","records":1}','faefe38b080322d6ec8044fbb943a5aeceb8a52cad4ffaa47bc3fc969f8329e3','df710efa4607a03d3a89a19cfc1f43b90f5652e08bc45807d2f59a2031f23f5e');
INSERT INTO "ledger_entries" VALUES('people',2,'2026-11-27T14:39:12.830168+00:00','reserve','spring','{"allowance":{"budget":{"delta":"1/100000","epsilon":"1"},"name":"2026-11"},"binding":"plan of spring","budget":{"delta":"1/1000000","epsilon":"1/2"},"nonce":"dda5ff9c25ef6d7fa0444fd4624d5a7e"}','df710efa4607a03d3a89a19cfc1f43b90f5652e08bc45807d2f59a2031f23f5e','65559fc2cf8a3f12bd39d34c3f38db9b5655d78cd5f5d8408c876714f3e57773');
INSERT INTO "ledger_entries" VALUES('people',3,'2026-11-27T14:39:12.836008+00:00','charge','spring','{"call":"ages","events":[{"event":"discrete_laplace","l1":2,"scale":"7/2","times":1}],"nonce":"0e4e304894c7823b946a65a20130f065","outcome":"d426d15f249391664138535e7d0a76df953c0c262bf1e1df656c3d72ad0839e9","request":"asked ages"}','65559fc2cf8a3f12bd39d34c3f38db9b5655d78cd5f5d8408c876714f3e57773','df6439997c5477bd62ae15d260f6604f212364cbea18a66286d81aace0dc08a3');
INSERT INTO "ledger_entries" VALUES('people',4,'2026-11-27T14:39:12.841979+00:00','charge','spring','{"call":"incomes","events":[{"event":"discrete_gaussian","l2_squared":2,"sigma2":"100","times":3,"unit_moves":2},{"adaptive":true,"epsilon":"1/50","event":"exponential_mechanism","times":1}],"nonce":"567fdd0e80abed1ccdd4f48b7ee6a187","outcome":"3b9f7973aa4cbf3e7158ff8584b5124a0d72c8b60f6cb728170c72c4b6faa45a","request":"asked incomes"}','df6439997c5477bd62ae15d260f6604f212364cbea18a66286d81aace0dc08a3','10025db75e4515778ded62e5dfc2db214a0687d6432c0ed61747de25be8520ae');
INSERT INTO "ledger_entries" VALUES('people',5,'2026-11-27T14:39:12.847372+00:00','request','spring','{"says":"request"}','10025db75e4515778ded62e5dfc2db214a0687d6432c0ed61747de25be8520ae','6b1a00e44c5c0cca446c091d786b67e86b97d49b6c3097478b3eb3d82b187b59');
INSERT INTO "ledger_entries" VALUES('people',6,'2026-11-27T14:39:12.852108+00:00','decision','spring','{"says":"decision"}','6b1a00e44c5c0cca446c091d786b67e86b97d49b6c3097478b3eb3d82b187b59','bd9030f04b2597debadebec78ab081da5c6bbfab7a5e8d8ef112b276c3b563bd');
INSERT INTO "ledger_entries" VALUES('people',7,'2026-11-27T14:39:12.856981+00:00','override','spring','{"says":"override"}','bd9030f04b2597debadebec78ab081da5c6bbfab7a5e8d8ef112b276c3b563bd','8c94a5588c6186bc4aabbb8573daf3995e67822d1618f7a7d959f926db639b0e');
INSERT INTO "ledger_entries" VALUES('people',8,'2026-11-27T14:39:12.861668+00:00','passage','spring','{"says":"passage"}','8c94a5588c6186bc4aabbb8573daf3995e67822d1618f7a7d959f926db639b0e','829829c2edfd302b555d0f6b41b1723777b32fdbf0b2d69e23056f8f6d151ce6');
INSERT INTO "ledger_entries" VALUES('people',9,'2026-11-27T14:39:12.867108+00:00','publish','spring','{"nonce":"dc064ab398607a6cbd068d5856023ed6","says":"publish"}','829829c2edfd302b555d0f6b41b1723777b32fdbf0b2d69e23056f8f6d151ce6','700b4b492978b48ebfc4b96cde3f5abeef25229b2ca69fa4a6352fd203cc9a0d');
INSERT INTO "ledger_entries" VALUES('people',10,'2026-11-27T14:39:12.873169+00:00','reserve','summer','{"binding":"plan of summer","budget":{"delta":"0","epsilon":"1/4"},"nonce":"3854dec43e6d61285577900f7d03e968"}','700b4b492978b48ebfc4b96cde3f5abeef25229b2ca69fa4a6352fd203cc9a0d','d9c43a7351127c947b521c50d830c3262b573e939d4ef50f2434ad501687f8a3');
INSERT INTO "ledger_entries" VALUES('people',11,'2026-11-27T14:39:12.878363+00:00','reserve','autumn','{"binding":"plan of autumn","budget":{"delta":"0","epsilon":"1/8"},"nonce":"0041c5a15046cc44a086f9030b1bd0b8"}','d9c43a7351127c947b521c50d830c3262b573e939d4ef50f2434ad501687f8a3','097871f1543ff15f91b14590cbd918175cca1357a405850d9efa3bf7a2dc3ad5');
INSERT INTO "ledger_entries" VALUES('people',12,'2026-11-27T14:39:12.883228+00:00','cancel','autumn','{"by":"steward","reason":"data board"}','097871f1543ff15f91b14590cbd918175cca1357a405850d9efa3bf7a2dc3ad5','9eb7ce3b543fdd9845aa5621a6e755c68eb0a64e2b19eaf828a7cd13e1659d6b');
INSERT INTO "ledger_entries" VALUES('people',13,'2026-11-27T14:39:12.888526+00:00','cap',NULL,'{"by":"steward","cap":{"delta":"1/10000","epsilon":"3"},"reason":"data board"}','9eb7ce3b543fdd9845aa5621a6e755c68eb0a64e2b19eaf828a7cd13e1659d6b','3701d505592415048d945d54114b4f824d896e6d862d352fc1c60f650819ae1c');
INSERT INTO "ledger_entries" VALUES('people',14,'2026-11-27T14:39:12.924438+00:00','composition',NULL,'{"by":"steward","composition":"zcdp","reason":"data board"}','3701d505592415048d945d54114b4f824d896e6d862d352fc1c60f650819ae1c','120bf5b3412028637cf52edc392053fd549faa1aa9079134bc52e2a0ebcc4170');
INSERT INTO "ledger_entries" VALUES('series',1,'2026-11-27T14:39:12.928673+00:00','open',NULL,'{"by":"steward","cap":{"delta":"1/100000","epsilon":"2"},"composition":"zcdp","neighbours":"replace_one","person":null,"reason":"data board","records":1}','2916e837b85acec6cb8b5e24f451d75bf933a698c9dd19dde2263c6bed2d87d8','f4e30780b7f886e48350b09c05fe0e86134726d4ea911541f6161c2a24c192cf');
INSERT INTO "ledger_entries" VALUES('series',2,'2026-11-27T14:39:12.933051+00:00','reserve','january','{"binding":"plan of january","budget":{"delta":"1/1000000","epsilon":"1/2"},"cost":{"pure":null,"rho":"1/30"},"filter":{"conversion":"1117937781/1250000000","delta":"1/100000","order":"8751707/856897"},"nonce":"d0c47629614c008eabcc81ee07038039"}','f4e30780b7f886e48350b09c05fe0e86134726d4ea911541f6161c2a24c192cf','b6ad0b8c8fb8dc5eb1613c243bdc8637cd0e123b2899637ad0d06953b902cab7');
INSERT INTO "ledger_entries" VALUES('series',3,'2026-11-27T14:39:12.937452+00:00','reserve','february','{"binding":"plan of february","budget":{"delta":"1/1000000","epsilon":"1/2"},"cost":{"pure":null,"rho":"1/30"},"nonce":"561311bfc743c0508cfdb1167ce71178"}','b6ad0b8c8fb8dc5eb1613c243bdc8637cd0e123b2899637ad0d06953b902cab7','8db5215a313f312b0e111c2c006ba9c2bbc228e4d4aff6118697d587055aade3');
INSERT INTO "ledger_entries" VALUES('series',4,'2026-11-27T14:39:12.942138+00:00','charge','january','{"call":"ages of january","events":[{"event":"discrete_gaussian","l2_squared":2,"sigma2":"100","times":3,"unit_moves":2}],"nonce":"79b026be5eb05058085d76e4e68aaae5","outcome":"37e3af4e6444ce83470c4404335a140b1b362f87a9eaefc58e01421a6644d73e","request":"asked ages of january"}','8db5215a313f312b0e111c2c006ba9c2bbc228e4d4aff6118697d587055aade3','59d965e64cb17eb4a7b813d78438e0af0a9039d64fc9fe2aebc6ee78ed81f69f');
INSERT INTO "ledger_entries" VALUES('series',5,'2026-11-27T14:39:12.947089+00:00','cap',NULL,'{"by":"steward","cap":{"delta":"1/100000","epsilon":"3"},"filter":{"conversion":"1117937781/1250000000","delta":"1/100000","order":"8751707/856897"},"reason":"data board"}','59d965e64cb17eb4a7b813d78438e0af0a9039d64fc9fe2aebc6ee78ed81f69f','c7d92cc1aaee6c3cf91e2f2ebd4bc3a46890d0c4012e1efccd159d1e1a5a6ac1');
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
CREATE TRIGGER ledger_entries_update BEFORE UPDATE ON ledger_entries BEGIN SELECT RAISE(ABORT, 'ledger_entries is append-only'); END;
CREATE TRIGGER ledger_entries_delete BEFORE DELETE ON ledger_entries BEGIN SELECT RAISE(ABORT, 'ledger_entries is append-only'); END;
CREATE TRIGGER ledger_entries_replace BEFORE INSERT ON ledger_entries WHEN EXISTS (SELECT 1 FROM ledger_entries WHERE account = NEW.account AND seq = NEW.seq) BEGIN SELECT RAISE(ABORT, 'ledger_entries is append-only'); END;
CREATE TRIGGER ledger_measurements_update BEFORE UPDATE ON ledger_measurements BEGIN SELECT RAISE(ABORT, 'ledger_measurements is append-only'); END;
CREATE TRIGGER ledger_measurements_delete BEFORE DELETE ON ledger_measurements BEGIN SELECT RAISE(ABORT, 'ledger_measurements is append-only'); END;
CREATE TRIGGER ledger_measurements_replace BEFORE INSERT ON ledger_measurements WHEN EXISTS (SELECT 1 FROM ledger_measurements WHERE release = NEW.release AND call = NEW.call) BEGIN SELECT RAISE(ABORT, 'ledger_measurements is append-only'); END;
COMMIT;
