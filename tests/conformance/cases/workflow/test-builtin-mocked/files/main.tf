resource "terraform_data" "a" {
  input = "i"
}
resource "terraform_data" "b" {
  input = terraform_data.a.id
}
output "id" { value = terraform_data.a.id }
