def test_a(hallmark, tmp_path):
    done = hallmark("--help")
    assert done.code == 0
def test_b(hallmark, tmp_path):
    done = hallmark("validate", tmp_path / "x.yaml")
    assert done.code == 2
