import {
  to = terraform_data.none
  id = "x"
}
resource "terraform_data" "t" {
  input = 1
}
output "o" {
  value = terraform_data.t.id
}
