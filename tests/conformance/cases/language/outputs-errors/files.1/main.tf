output "c" {
  value = sensitive("x")
}
output "i" {
  value     = 1
  ephemeral = true
}
output "j" {
  value = { a = [sensitive(1)] }
}
output "k" {
  value = terraform_data.x
}
output "l" {
  value = ephemeralasnull("x")
}
resource "terraform_data" "x" {
  input = sensitive("y")
}
