variables {
  f = "file ${var.a}"
  g = "file"
}
run "values" {
  variables {
    g = "run ${var.b}"
  }
  assert {
    condition     = output.all == "nothing"
    error_message = output.all
  }
}
