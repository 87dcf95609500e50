resource "terraform_data" "a" {
  input = "one"
}
resource "terraform_data" "b" {
  input = terraform_data.a.output
}
output "o" {
  value = terraform_data.b.output
}
