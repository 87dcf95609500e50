resource "terraform_data" "edge" {
  input = 1
  lifecycle {
    precondition {
      condition = terraform.workspace == "nope"
      error_message = "edge"
    }
  }
}
resource "terraform_data" "by_depends" {
  depends_on = [terraform_data.edge]
  lifecycle {
    postcondition {
      condition = self.id != ""
      error_message = "x"
    }
  }
}
resource "terraform_data" "by_value" {
  input = terraform_data.edge.output
  lifecycle {
    postcondition {
      condition = self.id != ""
      error_message = "x"
    }
  }
}
resource "terraform_data" "by_count" {
  count = terraform_data.edge.output
  lifecycle {
    postcondition {
      condition = self.id != ""
      error_message = "x"
    }
  }
}
data "terraform_remote_state" "d" {
  backend = "local"
  depends_on = [terraform_data.edge]
  lifecycle {
    postcondition {
      condition = self.outputs != ""
      error_message = "x"
    }
  }
}
module "m" {
  source = "./m"
  depends_on = [terraform_data.edge]
}
output "o" {
  value = terraform_data.edge.output
  precondition {
    condition = terraform_data.edge.output == 1
    error_message = "o"
  }
}
