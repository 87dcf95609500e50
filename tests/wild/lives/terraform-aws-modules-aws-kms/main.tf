# As examples/complete, whose outputs of sensitive grants are refused.
data "aws_caller_identity" "current" {}

resource "aws_iam_role" "lambda" {
  name_prefix = "weft-wild-"

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Action    = "sts:AssumeRole"
      Principal = { Service = "lambda.amazonaws.com" }
    }]
  })
}

module "complete" {
  source = "../.."

  deletion_window_in_days = 7
  description             = "Various configurations"
  enable_key_rotation     = false

  key_owners                        = [data.aws_caller_identity.current.arn]
  key_administrators                = [data.aws_caller_identity.current.arn]
  key_users                         = [data.aws_caller_identity.current.arn]
  key_service_users                 = [data.aws_caller_identity.current.arn]
  key_service_roles_for_autoscaling = ["arn:aws:iam::${data.aws_caller_identity.current.account_id}:role/aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling"]
  key_statements = [
    {
      sid        = "CloudWatchLogs"
      actions    = ["kms:Encrypt*", "kms:Describe*"]
      resources  = ["*"]
      principals = [{ type = "Service", identifiers = ["logs.eu-west-1.amazonaws.com"] }]
      conditions = [
        {
          test     = "ArnLike"
          variable = "kms:EncryptionContext:aws:logs:arn"
          values   = ["arn:aws:logs:eu-west-1:${data.aws_caller_identity.current.account_id}:log-group:*"]
        }
      ]
    }
  ]

  aliases = ["one", "foo/bar"]
  computed_aliases = {
    ex = {
      name = aws_iam_role.lambda.name
    }
  }
  aliases_use_name_prefix = true

  grants = {
    lambda = {
      grantee_principal = aws_iam_role.lambda.arn
      operations        = ["Encrypt", "Decrypt", "GenerateDataKey"]
      constraints = [{
        encryption_context_equals = {
          Department = "Finance"
        }
      }]
    }
  }

  tags = {
    Name = "weft-wild"
  }
}

module "default" {
  source = "../.."
}

module "off" {
  source = "../.."
  create = false
}

output "aliases" {
  value = module.complete.aliases
}

output "policy" {
  value = module.complete.key_policy
}
