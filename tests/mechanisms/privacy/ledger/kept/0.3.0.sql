-- A ledger of Hallmark 0.3.0, written by its code of 2026-11-25 (commit dc76bd8).
-- What 0.1.4 and 0.2.0 wrote, written by the newest numbered version.
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
INSERT INTO "ledger_accounts" VALUES('people',14,'3270678b39768b711635deb3e13f67e1473dfba663514f8ecfe78da4982edf35');
INSERT INTO "ledger_accounts" VALUES('homes',3,'74d3ea51c503e150882ec5913f9d0769521e58df687c3fe593a3c4f221817e23');
INSERT INTO "ledger_accounts" VALUES('earlier',4,'d7948afd9c04958c6f54bb55458b94b716e177e589f11af9342803747aaa184e');
INSERT INTO "ledger_accounts" VALUES('series',5,'196b91da53a9211d540d6897e3bdf3fdc4dc33d116cd0f64a33b7099d6a5f6b3');
INSERT INTO "ledger_accounts" VALUES('in-rho',3,'a8084db7a0456f52e1d43ba0afc347e0a9472cfad28f8daf56a55d9c46242235');
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
INSERT INTO "ledger_entries" VALUES('earlier',1,'2026-11-27T14:39:13.607449+00:00','open',NULL,'{"by":"steward","cap":{"delta":"1/10000","epsilon":"2"},"composition":"sum","neighbours":"replace_one","person":null,"reason":"data board","records":1}','4ccea54e3bffbfab36d22cc0e8edcde33ff8f3feef3a77992a326646c3745197','bbfc536d0b13a46efc0695acac9345da8bf1a5ca1aa998293c0090f3a0a6c1bc');
INSERT INTO "ledger_entries" VALUES('earlier',2,'2026-11-27T14:39:13.611606+00:00','reserve','sums','{"binding":"plan","budget":{"delta":"1/1000000","epsilon":"1/2"},"nonce":"65cb29ca9022060d7b9872c259786199"}','bbfc536d0b13a46efc0695acac9345da8bf1a5ca1aa998293c0090f3a0a6c1bc','80b94abbd3f245b242a2a32cb3ba40de7ead20093c995d8da44b06588a189beb');
INSERT INTO "ledger_entries" VALUES('earlier',3,'2026-11-27T14:39:13.615758+00:00','charge','sums','{"call":"ages","events":[{"event":"discrete_gaussian","l2_squared":2,"sigma2":"100","times":3,"unit_moves":2}],"nonce":"ac4bdf9c25670595bb4e475a938f310e","outcome":"d426d15f249391664138535e7d0a76df953c0c262bf1e1df656c3d72ad0839e9","request":"asked ages"}','80b94abbd3f245b242a2a32cb3ba40de7ead20093c995d8da44b06588a189beb','4ff6d54ced2d87b0e3bf15cad65f9e43d3ae9c4745c18ea0a17548d263f6e5b1');
INSERT INTO "ledger_entries" VALUES('earlier',4,'2026-11-27T14:39:13.620445+00:00','composition',NULL,'{"by":"steward","composition":"zcdp","filter":{"conversion":"1080980001/1250000000","delta":"1/10000","order":"7896409/969704"},"reason":"data board"}','4ff6d54ced2d87b0e3bf15cad65f9e43d3ae9c4745c18ea0a17548d263f6e5b1','d7948afd9c04958c6f54bb55458b94b716e177e589f11af9342803747aaa184e');
INSERT INTO "ledger_entries" VALUES('homes',1,'2026-11-27T14:39:13.594899+00:00','open',NULL,'{"by":"steward","cap":{"delta":"0","epsilon":"1"},"composition":"sum","neighbours":"add_remove","person":"household","reason":"data board","records":4}','c7a9be665997d251580d068bb84658a58386ccbfda72a6643bd0ece1a4ce46d5','1eaf276111487dbb3fa30f396b98294532bdccb32a1f709778d0742fcf681ecd');
INSERT INTO "ledger_entries" VALUES('homes',2,'2026-11-27T14:39:13.599132+00:00','reserve','dwellings','{"binding":"plan of dwellings","budget":{"delta":"0","epsilon":"1/3"},"nonce":"ed395051411608ac013b4b432b1509f3"}','1eaf276111487dbb3fa30f396b98294532bdccb32a1f709778d0742fcf681ecd','0a87f73d3e3c607850d65bf1a43117b819c500aae179b1c8f4dd473a09fcd487');
INSERT INTO "ledger_entries" VALUES('homes',3,'2026-11-27T14:39:13.603669+00:00','charge','dwellings','{"call":"rooms","events":[{"adaptive":true,"epsilon":"1/50","event":"exponential_mechanism","times":1}],"nonce":"ff2ad67f732c7b2884ed9f1cd6414ba4","outcome":"d0cfaa89b82608362c9718daaf227238221447fb04f1b2d338544608fb403d27","request":"asked rooms"}','0a87f73d3e3c607850d65bf1a43117b819c500aae179b1c8f4dd473a09fcd487','74d3ea51c503e150882ec5913f9d0769521e58df687c3fe593a3c4f221817e23');
INSERT INTO "ledger_entries" VALUES('in-rho',1,'2026-11-27T14:39:13.651468+00:00','open',NULL,'{"by":"steward","cap":{"delta":"1/100000","epsilon":"8620965290522663/4503599627370496","rho":"1/10"},"composition":"zcdp","neighbours":"replace_one","person":null,"reason":"data board","records":1}','06a4ba5e068b5dfcc2145827943cb4c097be14800ae0a7d0051c969add2fa3bd','04c51d02ff590417cc7815a3d6d6ad44da9f1fcabde181773af5e9b2126c791f');
INSERT INTO "ledger_entries" VALUES('in-rho',2,'2026-11-27T14:39:13.656051+00:00','reserve','one','{"binding":"plan of one","budget":{"delta":"1/1000000","epsilon":"1/2"},"cost":{"pure":null,"rho":"1/30"},"nonce":"e1a6801f88293b866cf800af4543da48"}','04c51d02ff590417cc7815a3d6d6ad44da9f1fcabde181773af5e9b2126c791f','76c22545da476a07a3c11f45137f279d636106424faefde43e1d47d3dafcaebd');
INSERT INTO "ledger_entries" VALUES('in-rho',3,'2026-11-27T14:39:13.660310+00:00','charge','one','{"call":"ages of one","events":[{"event":"discrete_gaussian","l2_squared":2,"sigma2":"100","times":3,"unit_moves":2}],"nonce":"a9a3a08e7ded67345dbe0744d25880b4","outcome":"03f4d0aa7d633581498290da509ec12ab48ba8de6b5fc4bad9bb17fa7d164e90","request":"asked ages of one"}','76c22545da476a07a3c11f45137f279d636106424faefde43e1d47d3dafcaebd','a8084db7a0456f52e1d43ba0afc347e0a9472cfad28f8daf56a55d9c46242235');
INSERT INTO "ledger_entries" VALUES('people',1,'2026-11-27T14:39:13.534251+00:00','open',NULL,'{"by":"steward","cap":{"delta":"1/10000","epsilon":"2"},"composition":"sum","neighbours":"replace_one","person":null,"reason":"data board","records":1}','faefe38b080322d6ec8044fbb943a5aeceb8a52cad4ffaa47bc3fc969f8329e3','e13810a3cd13c7eac5517d261c55abc4ec67312773c7e9f5cb5c75ca8d140ae2');
INSERT INTO "ledger_entries" VALUES('people',2,'2026-11-27T14:39:13.541778+00:00','reserve','spring','{"allowance":{"budget":{"delta":"1/100000","epsilon":"1"},"name":"2026-11"},"binding":"plan of spring","budget":{"delta":"1/1000000","epsilon":"1/2"},"nonce":"8bc8a86bce691cb891340433942ebc4b"}','e13810a3cd13c7eac5517d261c55abc4ec67312773c7e9f5cb5c75ca8d140ae2','780c3f657b116ef793d6222a019fad0f4191c1472eadb5850fbd24b377a7e54d');
INSERT INTO "ledger_entries" VALUES('people',3,'2026-11-27T14:39:13.546839+00:00','charge','spring','{"call":"ages","events":[{"event":"discrete_laplace","l1":2,"scale":"7/2","times":1}],"nonce":"34b1188a830400f82ec6f94e3be1582d","outcome":"d426d15f249391664138535e7d0a76df953c0c262bf1e1df656c3d72ad0839e9","request":"asked ages"}','780c3f657b116ef793d6222a019fad0f4191c1472eadb5850fbd24b377a7e54d','0563b1d400b9452aae08893385d0c3ce9c7903348b3c77c36c5d4c10ff20d737');
INSERT INTO "ledger_entries" VALUES('people',4,'2026-11-27T14:39:13.552192+00:00','charge','spring','{"call":"incomes","events":[{"event":"discrete_gaussian","l2_squared":2,"sigma2":"100","times":3,"unit_moves":2},{"adaptive":true,"epsilon":"1/50","event":"exponential_mechanism","times":1}],"nonce":"b4dd20ece1b54fd9bf3217b531617af2","outcome":"3b9f7973aa4cbf3e7158ff8584b5124a0d72c8b60f6cb728170c72c4b6faa45a","request":"asked incomes"}','0563b1d400b9452aae08893385d0c3ce9c7903348b3c77c36c5d4c10ff20d737','573ec8af3dc888164a5eb1c7b38b05aa5ac5f9b3065c837b5b71490542be61f0');
INSERT INTO "ledger_entries" VALUES('people',5,'2026-11-27T14:39:13.556872+00:00','request','spring','{"says":"request"}','573ec8af3dc888164a5eb1c7b38b05aa5ac5f9b3065c837b5b71490542be61f0','e2957b62068bcdf18cfd82bc87a1ff3f50872a63f35c5ed538e06634dbb2fc65');
INSERT INTO "ledger_entries" VALUES('people',6,'2026-11-27T14:39:13.561138+00:00','decision','spring','{"says":"decision"}','e2957b62068bcdf18cfd82bc87a1ff3f50872a63f35c5ed538e06634dbb2fc65','3494e5fe1745a82cbafd30dfbc53972b4e7e9253f8bd14a436a795abb6921d60');
INSERT INTO "ledger_entries" VALUES('people',7,'2026-11-27T14:39:13.565298+00:00','override','spring','{"says":"override"}','3494e5fe1745a82cbafd30dfbc53972b4e7e9253f8bd14a436a795abb6921d60','26dcded8b0d803de5b32ad32546888f74c400c34adde806b83f82f40f740d9b4');
INSERT INTO "ledger_entries" VALUES('people',8,'2026-11-27T14:39:13.569356+00:00','passage','spring','{"says":"passage"}','26dcded8b0d803de5b32ad32546888f74c400c34adde806b83f82f40f740d9b4','023d76c582df8cb730e824e79d2cfe6f5f4ecd3e506b380446830a2c477a38b7');
INSERT INTO "ledger_entries" VALUES('people',9,'2026-11-27T14:39:13.573504+00:00','publish','spring','{"nonce":"0f92ae94aa57712e55ec638b39cb92ad","says":"publish"}','023d76c582df8cb730e824e79d2cfe6f5f4ecd3e506b380446830a2c477a38b7','3a4ace12a8f80f2fedf1bcab2fecf06d219e276edbc383641cafc7e8d827a99d');
INSERT INTO "ledger_entries" VALUES('people',10,'2026-11-27T14:39:13.577990+00:00','reserve','summer','{"binding":"plan of summer","budget":{"delta":"0","epsilon":"1/4"},"nonce":"1876a5c2b3a7defecf32a7e14ab32144"}','3a4ace12a8f80f2fedf1bcab2fecf06d219e276edbc383641cafc7e8d827a99d','3abc4290e4d08919c5faea9d39a5006b1c4cdc9fe418643c8e98f61755cb7a84');
INSERT INTO "ledger_entries" VALUES('people',11,'2026-11-27T14:39:13.582686+00:00','reserve','autumn','{"binding":"plan of autumn","budget":{"delta":"0","epsilon":"1/8"},"nonce":"de0c7b16f3fd1e355e8294a3adc821c4"}','3abc4290e4d08919c5faea9d39a5006b1c4cdc9fe418643c8e98f61755cb7a84','d85c928eb6924ef89f6898ceac7f3e88e67009c042e1b89dbf689dd99a528f26');
INSERT INTO "ledger_entries" VALUES('people',12,'2026-11-27T14:39:13.587067+00:00','cancel','autumn','{"by":"steward","reason":"data board"}','d85c928eb6924ef89f6898ceac7f3e88e67009c042e1b89dbf689dd99a528f26','f85412f3719a0498eb15c96bd5efdb77971ba360c837afe56f67fd8637f786fb');
INSERT INTO "ledger_entries" VALUES('people',13,'2026-11-27T14:39:13.591608+00:00','cap',NULL,'{"by":"steward","cap":{"delta":"1/10000","epsilon":"3"},"reason":"data board"}','f85412f3719a0498eb15c96bd5efdb77971ba360c837afe56f67fd8637f786fb','9f1bfa2210776da1a9d161068cc2300b9573802ec7cf19aecfbff4498782e62d');
INSERT INTO "ledger_entries" VALUES('people',14,'2026-11-27T14:39:13.625663+00:00','composition',NULL,'{"by":"steward","composition":"zcdp","reason":"data board"}','9f1bfa2210776da1a9d161068cc2300b9573802ec7cf19aecfbff4498782e62d','3270678b39768b711635deb3e13f67e1473dfba663514f8ecfe78da4982edf35');
INSERT INTO "ledger_entries" VALUES('series',1,'2026-11-27T14:39:13.629086+00:00','open',NULL,'{"by":"steward","cap":{"delta":"1/100000","epsilon":"2"},"composition":"zcdp","neighbours":"replace_one","person":null,"reason":"data board","records":1}','2916e837b85acec6cb8b5e24f451d75bf933a698c9dd19dde2263c6bed2d87d8','442b077853fdc71ead01b626f00bcf5a6171c2adf3be4d21d21cba8f2941bf7e');
INSERT INTO "ledger_entries" VALUES('series',2,'2026-11-27T14:39:13.633431+00:00','reserve','january','{"binding":"plan of january","budget":{"delta":"1/1000000","epsilon":"1/2"},"cost":{"pure":null,"rho":"1/30"},"filter":{"conversion":"1117937781/1250000000","delta":"1/100000","order":"8751707/856897"},"nonce":"79e9e63d6b9f89543534d613ca348ec9"}','442b077853fdc71ead01b626f00bcf5a6171c2adf3be4d21d21cba8f2941bf7e','58ce376929a8cb514d6363ff8f40be65d4d6e42dd8ff93d0a8ce781c9aca5e4d');
INSERT INTO "ledger_entries" VALUES('series',3,'2026-11-27T14:39:13.637913+00:00','reserve','february','{"binding":"plan of february","budget":{"delta":"1/1000000","epsilon":"1/2"},"cost":{"pure":null,"rho":"1/30"},"nonce":"6e87dc4b8cd24ada904b58bcb292ef5e"}','58ce376929a8cb514d6363ff8f40be65d4d6e42dd8ff93d0a8ce781c9aca5e4d','34815b016cde364df498010d72b7d5de7c6aa4f904c281b17cee196816c7caf1');
INSERT INTO "ledger_entries" VALUES('series',4,'2026-11-27T14:39:13.642579+00:00','charge','january','{"call":"ages of january","events":[{"event":"discrete_gaussian","l2_squared":2,"sigma2":"100","times":3,"unit_moves":2}],"nonce":"fc8d22805a432c7a61927664363fd1f9","outcome":"37e3af4e6444ce83470c4404335a140b1b362f87a9eaefc58e01421a6644d73e","request":"asked ages of january"}','34815b016cde364df498010d72b7d5de7c6aa4f904c281b17cee196816c7caf1','a2f0ccc6eecd995e1fe538f1dfd5b9b8be201374e8bc57fddbe8ceae056c6cc5');
INSERT INTO "ledger_entries" VALUES('series',5,'2026-11-27T14:39:13.647277+00:00','cap',NULL,'{"by":"steward","cap":{"delta":"1/100000","epsilon":"3"},"filter":{"conversion":"1117937781/1250000000","delta":"1/100000","order":"8751707/856897"},"reason":"data board"}','a2f0ccc6eecd995e1fe538f1dfd5b9b8be201374e8bc57fddbe8ceae056c6cc5','196b91da53a9211d540d6897e3bdf3fdc4dc33d116cd0f64a33b7099d6a5f6b3');
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
