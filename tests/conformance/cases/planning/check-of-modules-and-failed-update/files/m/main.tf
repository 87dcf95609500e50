variable "size" {}
output "size" { value = var.size }
check "inner" {
  assert {
    condition     = var.size != 7
    error_message = "seven"
  }
}
