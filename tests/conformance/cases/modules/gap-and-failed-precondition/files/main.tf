resource "terraform_data" "a" {
  count = 2
  input = "a${count.index}"
}
output "o" {
  value = terraform_data.a[0].output
  precondition {
    condition     = terraform_data.a[1].output == "z"
    error_message = "no"
  }
}
