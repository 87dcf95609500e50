resource "terraform_data" "kept" {
  count            = 3
  input            = "a"
  triggers_replace = 1
  lifecycle {
    prevent_destroy = true
  }
}
resource "terraform_data" "reads" {
  input = length(terraform_data.kept)
}
resource "terraform_data" "apart" {
  input = 1
}
output "first" {
  value = terraform_data.kept[0].input
}
output "count" {
  value = length(terraform_data.kept)
}
output "other" {
  value = 3
}
