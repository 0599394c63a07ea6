"""The ledger beside a run: its heads recorded, losses noticed, balances told.

Calls go one way. A stage asks `rollback` whether the ledger still has everything that was recorded
outside it; only then does it reserve or draw. The core knows none of this. It calls back in one
place: `anchors.open_ledger` gives it a witness, which writes every new head to the anchors file.

    reserve, privatize ─► rollback.refuse_rolled_back ─► anchors.read, Ledger.hashes
            └──► Ledger.reserve, Ledger.record ─► witness ─► anchors.write
    lost_charges ─► rollback.Recorded ─► Ledger.prove, anchors.write
"""
