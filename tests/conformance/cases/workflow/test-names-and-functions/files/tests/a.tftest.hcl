variables {
  text = file("data/x.txt")
}
run "file" {
  command = plan
  assert {
    condition     = output.text == "from a file" && terraform.workspace == "default" && path.module == "."
    error_message = output.text
  }
}
run "functions" {
  variables {
    text = upper(join("-", [for x in ["a", "b"] : x]))
    list = ["1", 2]
  }
  assert {
    condition     = output.text == "A-B" && sum(output.list) == 3 && one([for n in output.list : n if n > 1]) == 2
    error_message = jsonencode(output.list)
  }
}
run "path_here" {
  variables {
    text = path.module
  }
}
