variable "input" {
  default = "one"
}
resource "terraform_data" "a" {
  for_each = toset(["x", "y"])
  input    = { key = each.key, value = var.input }
}
resource "terraform_data" "b" {
  count            = 2
  input            = terraform_data.a["x"].output
  triggers_replace = [count.index]
}
check "two" {
  assert {
    condition     = length(terraform_data.b) == 2
    error_message = "There are not two of them."
  }
}
output "all" {
  value = [terraform_data.b[0].output, null, 1.5, true]
}
output "hidden" {
  value     = "hidden-text"
  sensitive = true
}
