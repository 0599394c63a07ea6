-- A ledger of Hallmark after 0.3.0, written by its code of 2026-11-29.
-- With a series, its plan, and a release about one of its periods.
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
INSERT INTO "ledger_accounts" VALUES('people',15,'6a51fd9693e200c63179fb9e3392a3483a88567a28edcde2192cfe359c07a0ea');
INSERT INTO "ledger_accounts" VALUES('homes',3,'7e3accab248962c38e66dc70d86f864b37e918afee72acaed4ce8c73d696c9d3');
INSERT INTO "ledger_accounts" VALUES('earlier',4,'4574dbb62d715d68cb5502b8631dfa108f5dc8353349f6eb80752986c2401cd3');
INSERT INTO "ledger_accounts" VALUES('series',5,'20578e87f1bb2850d59cb8db0926e0855b9578fc800cea187f31dbfa36efa038');
INSERT INTO "ledger_accounts" VALUES('in-rho',3,'ed3ac8041d71014f8d2a5c12d867d498e37c48550ac958b824238b64d51bb2df');
INSERT INTO "ledger_accounts" VALUES('monthly',4,'a736463c96d17dba4f4fcbf664bb23458592dad4fb0cdeaf3091368db2b02f98');
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
INSERT INTO "ledger_entries" VALUES('earlier',1,'2026-11-29T07:46:43.246678+00:00','open',NULL,'{"by":"steward","cap":{"delta":"1/10000","epsilon":"2"},"composition":"sum","neighbours":"replace_one","person":null,"reason":"data board","records":1}','4ccea54e3bffbfab36d22cc0e8edcde33ff8f3feef3a77992a326646c3745197','5558ac4e92b3756afefd04ad11391647bfa293a4175635a65302a7fcda621b64');
INSERT INTO "ledger_entries" VALUES('earlier',2,'2026-11-29T07:46:43.249110+00:00','reserve','sums','{"binding":"plan","budget":{"delta":"1/1000000","epsilon":"1/2"},"nonce":"01075b3baf9aa26390dc4c4b731cd8e9"}','5558ac4e92b3756afefd04ad11391647bfa293a4175635a65302a7fcda621b64','4be62621b0c5a3e97edefa8184b55607df4d370e0ff6825fa9141ae612a1818f');
INSERT INTO "ledger_entries" VALUES('earlier',3,'2026-11-29T07:46:43.251490+00:00','charge','sums','{"call":"ages","events":[{"event":"discrete_gaussian","l2_squared":2,"sigma2":"100","times":3,"unit_moves":2}],"nonce":"e6eba388fecdcf01c4f34a0b0ff052da","outcome":"d426d15f249391664138535e7d0a76df953c0c262bf1e1df656c3d72ad0839e9","request":"asked ages"}','4be62621b0c5a3e97edefa8184b55607df4d370e0ff6825fa9141ae612a1818f','e0c89b8c30802462e7e788590896fe54a9d51fd6c9f2c186871120f01c057b96');
INSERT INTO "ledger_entries" VALUES('earlier',4,'2026-11-29T07:46:43.254225+00:00','composition',NULL,'{"by":"steward","composition":"zcdp","filter":{"conversion":"1080980001/1250000000","delta":"1/10000","order":"7896409/969704"},"reason":"data board"}','e0c89b8c30802462e7e788590896fe54a9d51fd6c9f2c186871120f01c057b96','4574dbb62d715d68cb5502b8631dfa108f5dc8353349f6eb80752986c2401cd3');
INSERT INTO "ledger_entries" VALUES('homes',1,'2026-11-29T07:46:43.239541+00:00','open',NULL,'{"by":"steward","cap":{"delta":"0","epsilon":"1"},"composition":"sum","neighbours":"add_remove","person":"household","reason":"data board","records":4}','c7a9be665997d251580d068bb84658a58386ccbfda72a6643bd0ece1a4ce46d5','b0f9b5efb5ee6705ae12fb15bca62aa76669490248c3b67915f0e93fcdd1e4bf');
INSERT INTO "ledger_entries" VALUES('homes',2,'2026-11-29T07:46:43.242049+00:00','reserve','dwellings','{"binding":"plan of dwellings","budget":{"delta":"0","epsilon":"1/3"},"nonce":"ce98cf4ae59b8557ee6576968c475b01"}','b0f9b5efb5ee6705ae12fb15bca62aa76669490248c3b67915f0e93fcdd1e4bf','0669d9913920fae0ebcef8b3b62e70eedf5d3bb329b55d7ee6843395dffef599');
INSERT INTO "ledger_entries" VALUES('homes',3,'2026-11-29T07:46:43.244712+00:00','charge','dwellings','{"call":"rooms","events":[{"adaptive":true,"epsilon":"1/50","event":"exponential_mechanism","times":1}],"nonce":"1a56c3394e554e89f9880375b9651d9a","outcome":"d0cfaa89b82608362c9718daaf227238221447fb04f1b2d338544608fb403d27","request":"asked rooms"}','0669d9913920fae0ebcef8b3b62e70eedf5d3bb329b55d7ee6843395dffef599','7e3accab248962c38e66dc70d86f864b37e918afee72acaed4ce8c73d696c9d3');
INSERT INTO "ledger_entries" VALUES('in-rho',1,'2026-11-29T07:46:43.271169+00:00','open',NULL,'{"by":"steward","cap":{"delta":"1/100000","epsilon":"8620965290522663/4503599627370496","rho":"1/10"},"composition":"zcdp","neighbours":"replace_one","person":null,"reason":"data board","records":1}','06a4ba5e068b5dfcc2145827943cb4c097be14800ae0a7d0051c969add2fa3bd','295bd4f2609c53b8bcb59c580dccdce5083186cca1b2f40a0962ea7e8ce2990f');
INSERT INTO "ledger_entries" VALUES('in-rho',2,'2026-11-29T07:46:43.273872+00:00','reserve','one','{"binding":"plan of one","budget":{"delta":"1/1000000","epsilon":"1/2"},"cost":{"pure":null,"rho":"1/30"},"nonce":"956f88fc039f8a1c3b9e14a4d24c26a7"}','295bd4f2609c53b8bcb59c580dccdce5083186cca1b2f40a0962ea7e8ce2990f','6097616debd2ab315ecf8fc1aa63fe610784f376a44fc0302672f1805312085d');
INSERT INTO "ledger_entries" VALUES('in-rho',3,'2026-11-29T07:46:43.276315+00:00','charge','one','{"call":"ages of one","events":[{"event":"discrete_gaussian","l2_squared":2,"sigma2":"100","times":3,"unit_moves":2}],"nonce":"d8e35ff23bb294c44f7b4596c90b6b0f","outcome":"03f4d0aa7d633581498290da509ec12ab48ba8de6b5fc4bad9bb17fa7d164e90","request":"asked ages of one"}','6097616debd2ab315ecf8fc1aa63fe610784f376a44fc0302672f1805312085d','ed3ac8041d71014f8d2a5c12d867d498e37c48550ac958b824238b64d51bb2df');
INSERT INTO "ledger_entries" VALUES('monthly',1,'2026-11-29T07:46:43.278353+00:00','open',NULL,'{"by":"steward","cap":{"delta":"1/100000","epsilon":"8620965290522663/4503599627370496","rho":"1/10"},"composition":"zcdp","neighbours":"replace_one","person":null,"presence":{"length":"month","most":2,"pattern":[0,1,2]},"reason":"data board","records":1}','d87f1454b0d9b6b8a09c1e237bda3e06d8bf116ee8e733a9800ab7103971753d','2c07aa6700d4a1fd64956fe0054eb386465a39ad99f52b8363b2cb80b3e8587a');
INSERT INTO "ledger_entries" VALUES('monthly',2,'2026-11-29T07:46:43.280925+00:00','plan',NULL,'{"by":"steward","planned":{"2026-01":"1/30","2026-03":"1/20"},"reason":"data board"}','2c07aa6700d4a1fd64956fe0054eb386465a39ad99f52b8363b2cb80b3e8587a','f58c33e7fe4f7a500025baf77ae509e27999b846c004d08077c8e6e7971aecf7');
INSERT INTO "ledger_entries" VALUES('monthly',3,'2026-11-29T07:46:43.283983+00:00','reserve','of-january','{"binding":"plan of january","budget":{"delta":"1/1000000","epsilon":"1/2"},"cost":{"pure":null,"rho":"1/30"},"nonce":"cb430aa68aaedd05d416ea57df919619","period":"2026-01"}','f58c33e7fe4f7a500025baf77ae509e27999b846c004d08077c8e6e7971aecf7','37fd0915f12d42e8c1a19b4bc210b8032e090954544055f27a8619678a045a70');
INSERT INTO "ledger_entries" VALUES('monthly',4,'2026-11-29T07:46:43.286494+00:00','charge','of-january','{"call":"ages of the month","events":[{"event":"discrete_gaussian","l2_squared":2,"sigma2":"100","times":3,"unit_moves":2}],"nonce":"aaa2ce96f8ac8dd75a5f58b005f97848","outcome":"93b48b934d0c65df65d728afd320436d151771c666b01d618b7db78724fee08f","request":"asked ages of the month"}','37fd0915f12d42e8c1a19b4bc210b8032e090954544055f27a8619678a045a70','a736463c96d17dba4f4fcbf664bb23458592dad4fb0cdeaf3091368db2b02f98');
INSERT INTO "ledger_entries" VALUES('people',1,'2026-11-29T07:46:43.198586+00:00','open',NULL,'{"by":"steward","cap":{"delta":"1/10000","epsilon":"2"},"composition":"sum","neighbours":"replace_one","person":null,"reason":"data board","records":1}','faefe38b080322d6ec8044fbb943a5aeceb8a52cad4ffaa47bc3fc969f8329e3','57e710497ff8ffc9962e4396327e280341bcf2298b33bc3222a37224a2822b2f');
INSERT INTO "ledger_entries" VALUES('people',2,'2026-11-29T07:46:43.204892+00:00','reserve','spring','{"allowance":{"budget":{"delta":"1/100000","epsilon":"1"},"name":"2026-11"},"binding":"plan of spring","budget":{"delta":"1/1000000","epsilon":"1/2"},"nonce":"377b8b060c54341914e6f7dcba91fed1"}','57e710497ff8ffc9962e4396327e280341bcf2298b33bc3222a37224a2822b2f','99953ffd4c43429a5754af57f49ff98ed64fda3e1ba2c0db52ffaf9fa52ad1e2');
INSERT INTO "ledger_entries" VALUES('people',3,'2026-11-29T07:46:43.207936+00:00','charge','spring','{"call":"ages","events":[{"event":"discrete_laplace","l1":2,"scale":"7/2","times":1}],"nonce":"8ddab53db8dfa2b450eb72e086ad49fe","outcome":"d426d15f249391664138535e7d0a76df953c0c262bf1e1df656c3d72ad0839e9","request":"asked ages"}','99953ffd4c43429a5754af57f49ff98ed64fda3e1ba2c0db52ffaf9fa52ad1e2','040a45d7ea8e7a4b68043a282274bfbcb040003349010f5c6d29ef001eda0d8b');
INSERT INTO "ledger_entries" VALUES('people',4,'2026-11-29T07:46:43.211096+00:00','charge','spring','{"call":"incomes","events":[{"event":"discrete_gaussian","l2_squared":2,"sigma2":"100","times":3,"unit_moves":2},{"adaptive":true,"epsilon":"1/50","event":"exponential_mechanism","times":1}],"nonce":"4cdd5c79b21b09a366fa5d0fbcfd9020","outcome":"3b9f7973aa4cbf3e7158ff8584b5124a0d72c8b60f6cb728170c72c4b6faa45a","request":"asked incomes"}','040a45d7ea8e7a4b68043a282274bfbcb040003349010f5c6d29ef001eda0d8b','f5425f8061add5d2eacc497447237b3a787cf7f76a395f8d7bd2a9f82d889fb9');
INSERT INTO "ledger_entries" VALUES('people',5,'2026-11-29T07:46:43.215330+00:00','request','spring','{"says":"request"}','f5425f8061add5d2eacc497447237b3a787cf7f76a395f8d7bd2a9f82d889fb9','44c1310ec2eb1c832ad7553a404d226eab76b24cef7757cbbe7e6dc4e6e5723a');
INSERT INTO "ledger_entries" VALUES('people',6,'2026-11-29T07:46:43.217694+00:00','decision','spring','{"says":"decision"}','44c1310ec2eb1c832ad7553a404d226eab76b24cef7757cbbe7e6dc4e6e5723a','4f36bf3a7b3cf15fbf072852c4d920ca88dd2696a70e4db48b642ca3b8c07bf6');
INSERT INTO "ledger_entries" VALUES('people',7,'2026-11-29T07:46:43.220057+00:00','override','spring','{"says":"override"}','4f36bf3a7b3cf15fbf072852c4d920ca88dd2696a70e4db48b642ca3b8c07bf6','ac8514cbc4ec826ea088c4078fa80bf79316f5d39423ab98f2c7f9dd39be5b70');
INSERT INTO "ledger_entries" VALUES('people',8,'2026-11-29T07:46:43.222332+00:00','passage','spring','{"says":"passage"}','ac8514cbc4ec826ea088c4078fa80bf79316f5d39423ab98f2c7f9dd39be5b70','e6703167471a16ec2cd605cc9e84806fc62796c490231d7ede9a59f9e995a2b8');
INSERT INTO "ledger_entries" VALUES('people',9,'2026-11-29T07:46:43.224760+00:00','publish','spring','{"nonce":"348021834404077c5d996c33280b1ccf","says":"publish"}','e6703167471a16ec2cd605cc9e84806fc62796c490231d7ede9a59f9e995a2b8','5e70650b98f6702c332c2598dcb5b6a88244d812bbbe005b1f90a7562d77386d');
INSERT INTO "ledger_entries" VALUES('people',10,'2026-11-29T07:46:43.227251+00:00','reserve','summer','{"binding":"plan of summer","budget":{"delta":"0","epsilon":"1/4"},"nonce":"f847aef094597a6e587669fc049273be"}','5e70650b98f6702c332c2598dcb5b6a88244d812bbbe005b1f90a7562d77386d','b8dfd6a624bdb2c1157626c7ebaff1ce8c300955ebd0a6ad519fcff60fadc681');
INSERT INTO "ledger_entries" VALUES('people',11,'2026-11-29T07:46:43.231491+00:00','reserve','autumn','{"binding":"plan of autumn","budget":{"delta":"0","epsilon":"1/8"},"nonce":"48d6fa7742561ca1dba36fcd2de13a57"}','b8dfd6a624bdb2c1157626c7ebaff1ce8c300955ebd0a6ad519fcff60fadc681','ce74944c22b3427540373263e2cc4073b33f2f70b4c43d61c6b52c73e4a62a49');
INSERT INTO "ledger_entries" VALUES('people',12,'2026-11-29T07:46:43.233954+00:00','cancel','autumn','{"by":"steward","reason":"data board"}','ce74944c22b3427540373263e2cc4073b33f2f70b4c43d61c6b52c73e4a62a49','429bf6bd2b9d1ecbd6ccfd7d0944ca2c8f7894c100dd29edf059c51d52dfc781');
INSERT INTO "ledger_entries" VALUES('people',13,'2026-11-29T07:46:43.237359+00:00','cap',NULL,'{"by":"steward","cap":{"delta":"1/10000","epsilon":"3"},"reason":"data board"}','429bf6bd2b9d1ecbd6ccfd7d0944ca2c8f7894c100dd29edf059c51d52dfc781','edde80f759e641e252677c160394b7be467fc8e6334daa654de489857bf58390');
INSERT INTO "ledger_entries" VALUES('people',14,'2026-11-29T07:46:43.257042+00:00','composition',NULL,'{"by":"steward","composition":"zcdp","reason":"data board"}','edde80f759e641e252677c160394b7be467fc8e6334daa654de489857bf58390','52b81e1f2e80a4dc6a8686f2e60129251125474f9060c36d3cb3e118a9818398');
INSERT INTO "ledger_entries" VALUES('people',15,'2026-11-29T07:46:43.289528+00:00','proved','lost','{"budget":{"delta":"1/1000000","epsilon":"1/8"},"by":"steward","events":[{"event":"discrete_gaussian","l2_squared":2,"sigma2":"100","times":3,"unit_moves":2}],"filter":{"conversion":"2419192209/2500000000","delta":"99/1000000","order":"1749094/233621"},"manifest":"a digest","reason":"data board"}','52b81e1f2e80a4dc6a8686f2e60129251125474f9060c36d3cb3e118a9818398','6a51fd9693e200c63179fb9e3392a3483a88567a28edcde2192cfe359c07a0ea');
INSERT INTO "ledger_entries" VALUES('series',1,'2026-11-29T07:46:43.258831+00:00','open',NULL,'{"by":"steward","cap":{"delta":"1/100000","epsilon":"2"},"composition":"zcdp","neighbours":"replace_one","person":null,"reason":"data board","records":1}','2916e837b85acec6cb8b5e24f451d75bf933a698c9dd19dde2263c6bed2d87d8','cc3986c7d5ec032cbbc42e986c29bba98cd51d522cbf862c05fd8e29bdf4f532');
INSERT INTO "ledger_entries" VALUES('series',2,'2026-11-29T07:46:43.261345+00:00','reserve','january','{"binding":"plan of january","budget":{"delta":"1/1000000","epsilon":"1/2"},"cost":{"pure":null,"rho":"1/30"},"filter":{"conversion":"1117937781/1250000000","delta":"1/100000","order":"8751707/856897"},"nonce":"76bf7ce05d17a008390d006aa6a8d1bb"}','cc3986c7d5ec032cbbc42e986c29bba98cd51d522cbf862c05fd8e29bdf4f532','ac4ae2863d6e5196dc451a3c643e172cefb201a4008a47c690906f4c73e6dcb6');
INSERT INTO "ledger_entries" VALUES('series',3,'2026-11-29T07:46:43.263958+00:00','reserve','february','{"binding":"plan of february","budget":{"delta":"1/1000000","epsilon":"1/2"},"cost":{"pure":null,"rho":"1/30"},"nonce":"cad3f1b6ff1dc79e4a22aadf0769b8d1"}','ac4ae2863d6e5196dc451a3c643e172cefb201a4008a47c690906f4c73e6dcb6','818044c280b059f517957ececc136a72e98b4de98a1df6db653f2692fefc84cf');
INSERT INTO "ledger_entries" VALUES('series',4,'2026-11-29T07:46:43.266453+00:00','charge','january','{"call":"ages of january","events":[{"event":"discrete_gaussian","l2_squared":2,"sigma2":"100","times":3,"unit_moves":2}],"nonce":"186bb11d3109d717205f2f56b9077806","outcome":"37e3af4e6444ce83470c4404335a140b1b362f87a9eaefc58e01421a6644d73e","request":"asked ages of january"}','818044c280b059f517957ececc136a72e98b4de98a1df6db653f2692fefc84cf','20f538e78c461d90bd4d38c89d6615112992d08ee7a436f2675d3b9e7ffaf88d');
INSERT INTO "ledger_entries" VALUES('series',5,'2026-11-29T07:46:43.269018+00:00','cap',NULL,'{"by":"steward","cap":{"delta":"1/100000","epsilon":"3"},"filter":{"conversion":"1117937781/1250000000","delta":"1/100000","order":"8751707/856897"},"reason":"data board"}','20f538e78c461d90bd4d38c89d6615112992d08ee7a436f2675d3b9e7ffaf88d','20578e87f1bb2850d59cb8db0926e0855b9578fc800cea187f31dbfa36efa038');
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
INSERT INTO "ledger_measurements" VALUES('of-january','ages of the month','asked ages of the month',X'6E6F697365206F662061676573206F6620746865206D6F6E746800010203','monthly',4);
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
INSERT INTO "ledger_releases" VALUES('of-january','monthly');
INSERT INTO "ledger_releases" VALUES('lost','people');
CREATE TRIGGER ledger_entries_update BEFORE UPDATE ON ledger_entries BEGIN SELECT RAISE(ABORT, 'ledger_entries is append-only'); END;
CREATE TRIGGER ledger_entries_delete BEFORE DELETE ON ledger_entries BEGIN SELECT RAISE(ABORT, 'ledger_entries is append-only'); END;
CREATE TRIGGER ledger_entries_replace BEFORE INSERT ON ledger_entries WHEN EXISTS (SELECT 1 FROM ledger_entries WHERE account = NEW.account AND seq = NEW.seq) BEGIN SELECT RAISE(ABORT, 'ledger_entries is append-only'); END;
CREATE TRIGGER ledger_measurements_update BEFORE UPDATE ON ledger_measurements BEGIN SELECT RAISE(ABORT, 'ledger_measurements is append-only'); END;
CREATE TRIGGER ledger_measurements_delete BEFORE DELETE ON ledger_measurements BEGIN SELECT RAISE(ABORT, 'ledger_measurements is append-only'); END;
CREATE TRIGGER ledger_measurements_replace BEFORE INSERT ON ledger_measurements WHEN EXISTS (SELECT 1 FROM ledger_measurements WHERE release = NEW.release AND call = NEW.call) BEGIN SELECT RAISE(ABORT, 'ledger_measurements is append-only'); END;
COMMIT;
