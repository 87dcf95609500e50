run "one" {
}
run "p" {
  command = plan
  variables {
    v = "2"
  }
  assert {
    condition = output.o == "1"
    error_message = "o"
  }
  assert {
    condition = output.o == "2"
    error_message = "o2"
  }
  assert {
    condition = output.id == "2"
    error_message = "id"
  }
  assert {
    condition = output.v == "2"
    error_message = "v"
  }
  assert {
    condition = terraform_data.a.output == "2"
    error_message = "a"
  }
  assert {
    condition = output.o == null
    error_message = "null"
  }
}
