run "unknown_message" {
  command = plan
  assert {
    condition     = terraform_data.a.input == "y"
    error_message = "id is ${terraform_data.a.id}"
  }
}
run "heredoc" {
  assert {
    condition     = terraform_data.a.input == "y"
    error_message = <<-EOT
      first line
      second line of ${terraform_data.a.input}
    EOT
  }
}
run "empty" {
  assert {
    condition     = terraform_data.a.input == "y"
    error_message = ""
  }
}
