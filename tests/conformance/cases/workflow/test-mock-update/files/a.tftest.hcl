mock_provider "lab" {
  mock_data "lab_things" {
    defaults = { names = ["n"] }
  }
}
run "first" {}
run "more" {
  variables {
    n    = 2
    name = "b"
  }
  assert {
    condition     = length(output.ids) == 2 && output.ids[0] == output.ids[1] && output.names == tolist(["n"])
    error_message = jsonencode(output.ids)
  }
}
run "fewer" {
  variables {
    n = 0
  }
  assert {
    condition     = output.ids == []
    error_message = jsonencode(output.ids)
  }
}
