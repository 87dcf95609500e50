resource "terraform_data" "a" {
  lifecycle { ignore_changes = [output, nope, id] }
}
resource "terraform_data" "b" {
  depends_on = [terraform_data.none]
  lifecycle { ignore_changes = [output] }
}
resource "terraform_data" "c" {
  count = var.none
  lifecycle { ignore_changes = [output] }
}
resource "terraform_data" "d" {
  lifecycle {
    ignore_changes = [output]
    precondition {
      condition     = terraform_data.none.id == ""
      error_message = "x"
    }
  }
}
