"""From a query to facts in exact order: snapshot, signals, fusion, receipts."""
