resource "terraform_data" "a" {
  count = 2
}
resource "terraform_data" "b" {}
output "one" {
  value = terraform_data.a[0].count
}
output "two" {
  value = terraform_data.b.count
}
output "three" {
  value = terraform_data.b.counts
}
