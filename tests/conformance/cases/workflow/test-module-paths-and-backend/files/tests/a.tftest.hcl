run "main" {
  assert {
    condition     = output.root == "."
    error_message = output.root
  }
}
run "other" {
  module {
    source = "./other"
  }
  assert {
    condition     = jsonencode(output.paths) == jsonencode(["other", "other", ["other", "other/inner"]])
    error_message = jsonencode(output.paths)
  }
}
