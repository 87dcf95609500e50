resource "terraform_data" "e" {
  for_each = toset(["a"])
}
resource "terraform_data" "c" {
  count = 2
}
output "name_as_attribute" {
  value = terraform_data.e.a.id
}
output "attribute" {
  value = terraform_data.e.id
}
output "of_count" {
  value = terraform_data.c.nothing
}
output "deeper" {
  value = terraform_data.e.a.id.x
}
output "with_key" {
  value = terraform_data.e["a"].nothing
}
