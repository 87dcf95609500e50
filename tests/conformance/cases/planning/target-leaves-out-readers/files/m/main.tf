
resource "terraform_data" "a" {
  count = 2
  input = "v${count.index}"
}
resource "terraform_data" "t" {
  input = terraform_data.a[0].id
}
output "o" {
  value = terraform_data.t.input
  precondition {
    condition     = length(terraform_data.a[1].id) > 3
    error_message = "bad"
  }
}
