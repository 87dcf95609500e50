variables {
  set   = ["b", "a", "b"]
  map   = { x = "1", y = 2 }
  tuple = [1, "true"]
}
run "file" {
  assert {
    condition     = output.all == jsonencode([["a", "b"], { x = 1, y = 2 }, ["1", true], null, []])
    error_message = output.all
  }
}
run "run" {
  variables {
    any    = { for k in ["p", "q"] : k => upper(k) }
    nested = [{}, { a = 1, b = ["2"] }]
  }
  assert {
    condition     = output.all == jsonencode([["a", "b"], { x = 1, y = 2 }, ["1", true], { p = "P", q = "Q" }, [{ a = "d", b = [] }, { a = "1", b = [2] }]])
    error_message = output.all
  }
}
run "bad_tuple" {
  variables {
    tuple = [1]
  }
}
