run "made" {
  assert {
    condition     = fileexists("made.txt") && terraform_data.a.output == "x"
    error_message = "not made"
  }
}
