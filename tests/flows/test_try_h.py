def test_b(hallmark, tmp_path):
    done = hallmark("validate", tmp_path / "x.yaml")
