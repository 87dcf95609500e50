variables { n = 2 }
run "main" {}
run "one" {
  module { source = "./one" }
}
run "two" {
  module { source = "./two" }
}
run "main_again" {
  variables { n = 3 }
  assert {
    condition     = lab_widget.main.size == 3 && output.n == 3
    error_message = "size"
  }
}
run "one_again" {
  module { source = "./one" }
  variables { n = 4 }
  assert {
    condition     = lab_widget.one.size == 4
    error_message = "size ${lab_widget.one.size}"
  }
}
