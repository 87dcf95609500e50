resource "terraform_data" "a" {
}
check "c" {
  assert {
    condition     = terraform_data.a.input == 1
    error_message = join("-", [])
  }
  assert {
    condition     = length(terraform_data.a.id) < 4
    error_message = join("", [terraform_data.a.output == null ? "" : "x"])
  }
  assert {
    condition     = length(terraform_data.a.id) < 5
    error_message = "Long."
  }
}
