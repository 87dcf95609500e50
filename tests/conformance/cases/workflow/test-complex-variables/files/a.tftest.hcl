variables {
  o = { name = "file" }
}
run "file" {
  assert {
    condition     = output.o.size == 3 && output.o.tags == null && output.o.name == "file"
    error_message = jsonencode(output.o)
  }
}
run "own" {
  variables {
    o = { name = "run", size = "4", tags = { a = 1 }, more = true }
    n = null
  }
  assert {
    condition     = output.o == { name = "run", size = 4, tags = tomap({ a = "1" }) } && output.n == "d"
    error_message = jsonencode(output.o)
  }
}
run "wrong" {
  variables {
    o = { size = 1 }
  }
}
