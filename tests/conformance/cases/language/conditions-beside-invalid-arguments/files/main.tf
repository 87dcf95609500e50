resource "terraform_data" "z" {}
locals { t = true }
resource "terraform_data" "d" {
  input = tonumber("x")
  lifecycle {
    precondition {
      condition     = terraform_data.none.id == ""
      error_message = "x"
    }
  }
}
resource "terraform_data" "e" {
  input = tonumber("x")
  lifecycle {
    precondition {
      condition     = local.t == tonumber("y")
      error_message = "x"
    }
  }
}
resource "terraform_data" "f" {
  input = tonumber("x")
  lifecycle {
    precondition {
      condition     = local.t
      error_message = tonumber("q")
    }
    postcondition {
      condition     = self.foo
      error_message = "x"
    }
  }
}

output "steps" { value = terraform_data.z.id.x }
