run "r" {
  assert {
    condition     = output.o == "tests auto"
    error_message = output.o
  }
}
run "v" {
  variables { a = "run" }
  assert {
    condition     = output.o == "run auto"
    error_message = output.o
  }
}
