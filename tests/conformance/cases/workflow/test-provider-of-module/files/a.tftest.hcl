run "m" {
  module {
    source = "./m"
  }
}
run "main" {
  assert {
    condition     = output.n == 1
    error_message = "n"
  }
}
