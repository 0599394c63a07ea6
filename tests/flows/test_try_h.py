import traceback, sys
def test_b(hallmark, tmp_path):
    done = hallmark("validate", tmp_path / "x.yaml")
    open("/tmp/h/tb.txt","w").write(repr(done)+repr((sys.stdout, sys.__stdout__, sys.stderr.closed, sys.stdout.closed)))
    assert done.code == 2
