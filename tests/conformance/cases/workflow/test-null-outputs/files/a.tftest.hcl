run "first" {
  assert {
    condition     = output.nothing == null && output.object.b[1] == "x" && output.object.c == null
    error_message = jsonencode(output.object)
  }
}
run "second" {
  variables {
    v = run.first.object
  }
  assert {
    condition     = output.given.a == 1 && output.given.c == null
    error_message = jsonencode(output.given)
  }
}
run "third" {
  variables {
    v = run.second.nothing
  }
}
